#include "runtime/kv_cache/cached_sequence.hpp"

#include <algorithm>

namespace troupe {

namespace {

// Extends a chain by the full blocks of the tokens behind it. Gives how many tokens those are.
std::size_t hash_blocks(std::pmr::vector<block_hash>& chain, std::span<const token_id> tokens,
                        block_hasher& hasher, std::size_t block_size) {
  std::size_t hashed = 0;
  for (; hashed + block_size <= tokens.size(); hashed += block_size)
    chain.push_back(hasher.next(chain.back(), tokens.subspan(hashed, block_size)));
  return hashed;
}

}  // namespace

void cached_sequence::clear(request_id new_id) {
  id = new_id;
  added = false;
  known = 0;
  chain.clear();
  tail.clear();
  preempted = false;
  parent.reset();
  forget_blocks();
}

void cached_sequence::forget_blocks() {
  table = {};
  first_step = 0;
  num_cached = 0;
  copied_from.reset();
  stored = 0;
  published = 0;
  outdated = false;
}

// Before the first grant's step is over, that is of blocks that it had before a preemption, or is to be
// copied by that step.
void cached_sequence::note_stored(std::int32_t count, std::uint64_t committed) {
  if (!table.empty() && first_step <= committed) stored = std::max(stored, count);
}

// Not by way of the tail, which keeps its room for whoever comes to this place next.
void cached_sequence::hash_prompt(std::span<const token_id> prompt, block_hasher& hasher,
                                  std::size_t block_size) {
  const std::span<const token_id> rest = prompt.subspan(hash_blocks(chain, prompt, hasher, block_size));
  tail.assign(rest.begin(), rest.end());
}

void cached_sequence::hash_full_blocks(block_hasher& hasher, std::size_t block_size) {
  if (chain.empty() || tail.size() < block_size) return;
  const std::size_t hashed = hash_blocks(chain, tail, hasher, block_size);
  tail.erase(tail.begin(), tail.begin() + static_cast<std::ptrdiff_t>(hashed));
}

}  // namespace troupe
