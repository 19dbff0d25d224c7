// Block tables where they are written and read: steps in flight read a sequence's table while it grows, so
// that no step copies it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "runtime/near_memory.hpp"

namespace troupe {

// A sequence's blocks, in order. A handle: its memory is a table_memory's.
class block_table {
 public:
  std::size_t size() const { return size_; }
  bool empty() const { return size_ == 0; }
  bool full() const { return size_ == room_; }
  // Only while not full. What stands there already does not move.
  void push_back(std::int32_t block) { blocks_[size_++] = block; }
  // Only while not empty. Gives the block that stood there.
  std::int32_t pop_back() { return blocks_[--size_]; }
  void clear() { size_ = 0; }
  std::int32_t operator[](std::size_t i) const { return blocks_[i]; }
  std::span<const std::int32_t> blocks() const { return {blocks_, size_}; }
  const std::int32_t* begin() const { return blocks_; }
  const std::int32_t* end() const { return blocks_ + size_; }

 private:
  friend class table_memory;
  std::int32_t* blocks_ = nullptr;
  std::uint32_t size_ = 0;
  std::uint32_t room_ = 0;
};

// Room for tables, of sizes that double from `smallest` on. Keeps what it has until its own end, which is
// that of the last step that may read a table of it.
class table_memory {
 public:
  static constexpr std::size_t smallest = 64;  // blocks: 1,024 tokens at 16 a block

  // An empty table for so many blocks, or more.
  block_table take(std::size_t room);
  // Of a table that nobody reads any more; it is empty then and has no room.
  void give_back(block_table& table);

 private:
  near_memory memory_;
};

}  // namespace troupe
