// How often something may be said that others can bring about as often as they like.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <optional>
#include <utility>

#include "runtime/request.hpp"

namespace troupe {

// `burst` times at once, then once for each `interval` that has passed (a token bucket). One caller at a
// time.
class rate_limit {
 public:
  rate_limit(std::int32_t burst, std::chrono::nanoseconds interval)
      : burst_(burst), interval_(interval), left_(burst) {}

  // Nothing: not now. Else it may be said, and that it was not so many times since it was said last.
  std::optional<std::uint64_t> pass(steady_time now) {
    const auto earned = last_ ? (now - *last_) / interval_ : 0;
    if (last_) *last_ += earned * interval_;
    left_ = std::min<std::int64_t>(burst_, left_ + earned);
    if (!last_ || left_ == burst_) last_ = now;
    if (left_ == 0) {
      ++dropped_;
      return std::nullopt;
    }
    --left_;
    return std::exchange(dropped_, 0);
  }

 private:
  const std::int64_t burst_;
  const std::chrono::nanoseconds interval_;
  std::int64_t left_;
  std::optional<steady_time> last_ = {};  // since when the next one is being earned
  std::uint64_t dropped_ = 0;
};

}  // namespace troupe
