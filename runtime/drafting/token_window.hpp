// Tokens by position: the newest are appended, the oldest given up. Positions count on modulo 2^32.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/request.hpp"

namespace troupe {

// Holds fewer than 2^31 tokens at a time.
class token_window {
 public:
  std::uint32_t begin() const { return begin_; }
  std::uint32_t end() const { return end_; }
  std::uint32_t size() const { return end_ - begin_; }
  // Only for a position from begin() up to end().
  token_id operator[](std::uint32_t position) const { return ring_[position & mask_]; }

  void push_back(token_id token) {
    if (size() == ring_.size()) grow();
    ring_[end_++ & mask_] = token;
  }
  // Only for a position from begin() up to end().
  void drop_before(std::uint32_t position) { begin_ = position; }
  std::size_t bytes() const { return ring_.size() * sizeof(token_id); }

 private:
  void grow() {
    std::vector<token_id> larger(ring_.empty() ? 64 : 2 * ring_.size());
    const auto mask = static_cast<std::uint32_t>(larger.size() - 1);
    for (std::uint32_t at = begin_; at != end_; ++at) larger[at & mask] = ring_[at & mask_];
    ring_ = std::move(larger);
    mask_ = mask;
  }

  std::vector<token_id> ring_;  // a power of two
  std::uint32_t mask_ = 0;
  std::uint32_t begin_ = 0;
  std::uint32_t end_ = 0;
};

}  // namespace troupe
