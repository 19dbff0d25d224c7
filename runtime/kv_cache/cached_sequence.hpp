// What the KV cache knows about one sequence.
#pragma once
#include <cstdint>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

#include "runtime/kv_cache/block_hash.hpp"
#include "runtime/kv_cache/block_table.hpp"
#include "runtime/request.hpp"

namespace troupe {

// What a step looks at lies in two cache lines, but for a first grant.
struct alignas(64) cached_sequence {
  // What grows with its text lies in `memory`.
  explicit cached_sequence(std::pmr::memory_resource* memory) : chain(memory), tail(memory) {}

  request_id id = 0;
  std::int32_t place = 0;        // its own, in the manager's pool
  bool in_use = false;           // else it is kept for its memory
  bool added = false;            // its tokens are known here; else it is only given blocks
  bool queued = false;           // waits for index_blocks()
  bool outdated = false;         // its K and V are older than a reset: others must not find them
  block_table table = {};        // empty before the first grant and after a preemption
  std::int32_t known = 0;        // tokens known: prompt + appended
  std::int32_t stored = 0;       // leading tokens whose K and V committed steps have written, at least
  std::int32_t published = 0;    // leading blocks that others can find
  std::int32_t num_cached = 0;   // found at the first grant
  std::uint64_t first_step = 0;  // of the first grant
  // Where that shares a parent's blocks: the one whose copy is table[num_cached / block_size].
  std::optional<std::int32_t> copied_from = {};

  alignas(64) std::pmr::vector<block_hash> chain;  // its scope's hash, then one per full block hashed so far;
                                                   // empty: none
  std::pmr::vector<token_id> tail;                 // the known tokens after the hashed ones

  bool preempted = false;
  std::optional<request_id> parent = {};  // whose blocks it shares at its first grant

  std::int32_t num_hashed() const { return chain.empty() ? 0 : static_cast<std::int32_t>(chain.size()) - 1; }

  // Forgets everything but the memory it has.
  void clear(request_id new_id);
  // Its blocks are gone, and so is its table; tokens and hashes stay.
  void forget_blocks();
  // `count` leading tokens are stored, as somebody says when all steps up to `committed` are over.
  void note_stored(std::int32_t count, std::uint64_t committed);
  // Extends the chain by the prompt's full blocks; the tokens behind them are the tail.
  void hash_prompt(std::span<const token_id> prompt, block_hasher& hasher, std::size_t block_size);
  // Extends the chain by the blocks that are full by now.
  void hash_full_blocks(block_hasher& hasher, std::size_t block_size);
};
static_assert(sizeof(cached_sequence) == 192);

}  // namespace troupe
