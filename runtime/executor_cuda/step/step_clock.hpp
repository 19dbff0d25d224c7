// When steps begin and end, by the device's own clock.
#pragma once
#include <array>
#include <cstddef>
#include <functional>
#include <optional>
#include <utility>

#include "runtime/executor_cuda/device/cuda_event.hpp"

namespace troupe {

class step_clock {
 public:
  // A step begins; where the one before has not ended, in its place.
  void begin(const cuda_stream& stream) {
    if (!has_begun_) current_ = (current_ + 1) % marks_.size();
    marks_[current_].begin.record(stream);
    has_begun_ = true;
  }
  // Behind the last work of the step that has begun.
  void end(const cuda_stream& stream) {
    if (!std::exchange(has_begun_, false)) return;
    marks_[current_].end.record(stream);
    ended_ = current_;
  }

  // Of the step that has ended last and is over: microseconds from its first work to its last,
  // and from the last work of the one before to its first. The next one may have begun.
  void tell(const std::function<void(double busy, double idle)>& hears) {
    if (!ended_) return;
    const mark& step = marks_[*ended_];
    const double busy = 1000.0 * step.end.milliseconds_since(step.begin);
    hears(busy, previous_ ? 1000.0 * step.begin.milliseconds_since(marks_[*previous_].end) : 0.0);
    previous_ = std::exchange(ended_, std::nullopt);
  }

 private:
  struct mark {
    cuda_event begin{cuda_event::use::timing};
    cuda_event end{cuda_event::use::timing};
  };
  std::array<mark, 3> marks_;  // of the one before, the one that ends, the one that has begun
  std::size_t current_ = 0;
  bool has_begun_ = false;
  std::optional<std::size_t> ended_;
  std::optional<std::size_t> previous_;
};

}  // namespace troupe
