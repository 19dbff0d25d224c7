#include "runtime/kv_cache/free_queue.hpp"

#include <numeric>

namespace troupe {

free_queue::free_queue(std::int32_t num_blocks)
    : ring_(static_cast<std::size_t>(num_blocks)), size_(num_blocks) {
  std::iota(ring_.begin(), ring_.end(), 0);
}

std::size_t free_queue::index(std::int32_t i) const {
  const auto position = static_cast<std::size_t>(front_) + static_cast<std::size_t>(i);
  return position < ring_.size() ? position : position - ring_.size();
}

std::int32_t free_queue::pop() {
  const std::int32_t block = ring_[index(0)];
  front_ = static_cast<std::int32_t>(index(1));
  --size_;
  return block;
}

void free_queue::push(std::int32_t block) {
  ring_[index(size_)] = block;
  ++size_;
}

}  // namespace troupe
