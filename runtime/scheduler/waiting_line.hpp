// A look along a waiting queue: who is to be admitted, one after another, listed as far as somebody looks.
#pragma once
#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/scheduler/waiting_queue.hpp"

namespace troupe {

// Valid until the queue changes, or is asked for its next ones by another.
class waiting_line {
 public:
  // Ends behind `most`. So many as `at_once` are listed at the beginning, and twice as many each time that
  // the look goes beyond: it takes time in proportion to those that are looked at, however many wait.
  waiting_line(waiting_queue& queue, std::size_t at_once, std::size_t most)
      : queue_(queue),
        most_(most),
        asked_(std::min(std::max<std::size_t>(at_once, 1), most)),
        listed_(queue.next(asked_)) {}

  sequence* next() {  // null: that was the last one
    if (at_ == asked_ && asked_ < most_) {
      asked_ = std::min(2 * asked_, most_);
      queue_.next(asked_);
    }
    return at_ < listed_.size() ? listed_[at_++] : nullptr;
  }

 private:
  waiting_queue& queue_;
  std::size_t most_;
  std::size_t asked_;                     // for so many: fewer are listed where fewer wait
  const std::vector<sequence*>& listed_;  // the queue's own list
  std::size_t at_ = 0;
};

}  // namespace troupe
