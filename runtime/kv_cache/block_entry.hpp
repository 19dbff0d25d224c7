// All that is known of one block of KV memory, in one cache line. A thousand sequences visit their blocks in
// disorder: each visit is a miss, and three arrays for its three parts would be three.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory_resource>
#include <vector>

#include "runtime/kv_cache/block_hash.hpp"

namespace troupe {

struct alignas(64) block_entry {
  static constexpr std::int32_t not_indexed = -2;

  // The free queue's: its neighbours there.
  std::int32_t previous = 0;
  std::int32_t next = 0;
  // The prefix index's: what follows in its bucket, its content's hash, and whether another block of the same
  // has been there beside it.
  std::int32_t next_in_bucket = not_indexed;
  block_hash hash = {};
  bool had_twin = false;
  // The pool's: how many count on it.
  std::int32_t references = 0;
};
static_assert(sizeof(block_entry) == 64);

// Of all blocks, by their numbers, and one more: the place in the free queue before its front and behind its
// back. The size does not change as long as somebody looks into it.
using block_entries = std::pmr::vector<block_entry>;

inline block_entries make_block_entries(
    std::int32_t num_blocks, std::pmr::memory_resource* memory = std::pmr::get_default_resource()) {
  return block_entries(static_cast<std::size_t>(num_blocks) + 1, memory);
}

}  // namespace troupe
