// Free blocks in the order in which they came back: the one free for longest is taken first. All O(1).
#pragma once
#include <cstddef>
#include <cstdint>
#include <vector>

namespace troupe {

class free_queue {
 public:
  // Holds all blocks [0, num_blocks) at first, in order.
  explicit free_queue(std::int32_t num_blocks);

  std::int32_t size() const { return size_; }
  // Only while size() > 0.
  std::int32_t pop();
  // Only for a block that is not in the queue.
  void push(std::int32_t block);
  // The i-th from the front.
  std::int32_t at(std::int32_t i) const { return ring_[index(i)]; }

 private:
  std::size_t index(std::int32_t i) const;
  std::vector<std::int32_t> ring_;  // [num_blocks]
  std::int32_t front_ = 0;
  std::int32_t size_ = 0;
};

}  // namespace troupe
