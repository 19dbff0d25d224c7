// The blocks that nobody uses, in the order in which they are taken. A doubly linked list over block numbers:
// all O(1), no allocation after construction. (vLLM's FreeKVCacheBlockQueue, with indices for pointers.)
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "runtime/kv_cache/block_entry.hpp"

namespace troupe {

class free_queue {
 public:
  // Holds all blocks at first, in order. `entries`: [num_blocks + 1], which outlive it; the last stands
  // before the front and behind the back.
  explicit free_queue(std::span<block_entry> entries);
  free_queue(const free_queue&) = delete;
  free_queue& operator=(const free_queue&) = delete;

  std::int32_t size() const { return size_; }
  // The next block behind the one that the last call gave, as long as that is no more than about `most`
  // places from the front.
  std::optional<std::int32_t> ahead(std::size_t most);
  // visit(block) for the next blocks, no more than `most`, front to back.
  template <class Visit>
  void visit_next(std::size_t most, Visit visit) const {
    for (std::int32_t block = entries_[end()].next; block != last() && most > 0; --most) {
      visit(block);
      block = entries_[static_cast<std::size_t>(block)].next;
    }
  }
  // Only while size() > 0.
  std::int32_t pop_front();
  // Only for a block that is not in the queue.
  void push_front(std::int32_t block) {
    insert_before(block, entries_[end()].next);
    if (ahead_ != last()) ++num_ahead_;
  }
  void push_back(std::int32_t block) { insert_before(block, last()); }
  // Only for a block that is in the queue.
  void remove(std::int32_t block);
  // Front to back. Empty where the links contradict each other.
  std::vector<std::int32_t> blocks() const;

 private:
  std::size_t end() const { return entries_.size() - 1; }
  std::int32_t last() const { return static_cast<std::int32_t>(end()); }
  block_entry& at(std::int32_t block) { return entries_[static_cast<std::size_t>(block)]; }
  void insert_before(std::int32_t block, std::int32_t next);

  std::span<block_entry> entries_;
  std::int32_t size_ = 0;
  std::int32_t ahead_ = 0;     // what ahead() gave last, or the last entry
  std::size_t num_ahead_ = 0;  // how many places that is from the front, unless some between have left
};

}  // namespace troupe
