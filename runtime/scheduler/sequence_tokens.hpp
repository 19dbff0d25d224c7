// The tokens of a sequence, whose newest lie beside what else a step reads of it: adding one touches no
// memory of its own.
#pragma once
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/prefetch.hpp"
#include "runtime/request.hpp"

namespace troupe {

// One cache line, and a vector that is written once in a while.
class sequence_tokens {
 public:
  sequence_tokens() = default;
  explicit sequence_tokens(std::vector<token_id> tokens)
      : older_(std::move(tokens)), size_(static_cast<std::int32_t>(older_.size())), num_older_(size_) {}

  std::int32_t size() const { return size_; }
  // Room for so many in all.
  void reserve(std::size_t most) { older_.reserve(most); }
  void push_back(token_id token) {
    if (is_full()) all();
    newest_[static_cast<std::size_t>(size_++ - num_older_)] = token;
  }
  // Whether push_back() touches more memory than the object's own.
  bool is_full() const { return static_cast<std::size_t>(size_ - num_older_) == newest_.size(); }
  // For that, or for all() and a look at the newest.
  void prefetch_older() const {
    const token_id* end = older_.data() + num_older_;
    prefetch_line(end);
    prefetch_line(end - newest_.size());
  }
  // Only for a token that there is.
  token_id operator[](std::int32_t i) const {
    return i < num_older_ ? older_[static_cast<std::size_t>(i)]
                          : newest_[static_cast<std::size_t>(i - num_older_)];
  }
  // In one piece, until the next change.
  const std::vector<token_id>& all() {
    older_.insert(older_.end(), newest_.begin(), newest_.begin() + (size_ - num_older_));
    num_older_ = size_;
    return older_;
  }

 private:
  std::vector<token_id> older_;
  std::int32_t size_ = 0;
  std::int32_t num_older_ = 0;
  std::array<token_id, 8> newest_{};  // those behind the older ones
};
static_assert(sizeof(sequence_tokens) == 64);

}  // namespace troupe
