// The blocks that nobody uses, in the order in which they are taken. A doubly linked list over block numbers:
// all O(1), no allocation after construction. (vLLM's FreeKVCacheBlockQueue, with indices for pointers.)
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <vector>

#include "runtime/prefetch.hpp"

namespace troupe {

class free_queue {
 public:
  // Holds all blocks [0, num_blocks) at first, in order.
  explicit free_queue(std::int32_t num_blocks,
                      std::pmr::memory_resource* memory = std::pmr::get_default_resource());

  std::int32_t size() const { return size_; }
  // The next block behind the one that the last call gave, as long as that is no more than about `most`
  // places from the front.
  std::optional<std::int32_t> ahead(std::size_t most);
  // visit(block) for the next blocks, no more than `most`, front to back.
  template <class Visit>
  void visit_next(std::size_t most, Visit visit) const {
    for (std::int32_t block = links_[end()].next; block != last() && most > 0; --most) {
      visit(block);
      block = links_[static_cast<std::size_t>(block)].next;
    }
  }
  void prefetch_link(std::int32_t block) const { prefetch_line(&links_[static_cast<std::size_t>(block)]); }
  // Only while size() > 0.
  std::int32_t pop_front();
  // Only for a block that is not in the queue.
  void push_front(std::int32_t block) {
    insert_before(block, links_[end()].next);
    if (ahead_ != last()) ++num_ahead_;
  }
  void push_back(std::int32_t block) { insert_before(block, last()); }
  // Only for a block that is in the queue.
  void remove(std::int32_t block);
  // Front to back. Empty where the links contradict each other.
  std::vector<std::int32_t> blocks() const;

 private:
  struct link {
    std::int32_t previous = 0;
    std::int32_t next = 0;
  };
  std::size_t end() const { return links_.size() - 1; }
  std::int32_t last() const { return static_cast<std::int32_t>(end()); }
  link& at(std::int32_t block) { return links_[static_cast<std::size_t>(block)]; }
  void insert_before(std::int32_t block, std::int32_t next);

  std::pmr::vector<link> links_;  // [num_blocks + 1]; the last stands before the front and behind the back
  std::int32_t size_ = 0;
  std::int32_t ahead_ = 0;     // what ahead() gave last, or the last link
  std::size_t num_ahead_ = 0;  // how many places that is from the front, unless some between have left
};

}  // namespace troupe
