#include "runtime/kv_cache/cached_sequence.hpp"

#include <algorithm>

namespace troupe {

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
  last_step = 0;
  planned = 0;
  planned_step = 0;
}

void cached_sequence::note_demand(std::uint64_t step, std::int32_t computed, std::uint64_t committed) {
  if (step == last_step) return;
  if (last_step <= committed) {
    stored = std::max(stored, computed);
  } else if (planned_step <= committed) {
    stored = std::max(stored, planned);
    planned = computed;
    planned_step = last_step;
  }
  last_step = step;
}

// Before the first grant's step is over, the tokens come from a step before a preemption.
void cached_sequence::note_samples(std::uint64_t committed) {
  if (added && !table.empty() && first_step <= committed) stored = std::max(stored, known - 1);
}

void cached_sequence::hash_full_blocks(block_hasher& hasher, std::size_t block_size) {
  if (chain.empty() || tail.size() < block_size) return;
  std::size_t hashed = 0;
  for (; hashed + block_size <= tail.size(); hashed += block_size) {
    chain.push_back(hasher.next(chain.back(), std::span(tail).subspan(hashed, block_size)));
  }
  tail.erase(tail.begin(), tail.begin() + static_cast<std::ptrdiff_t>(hashed));
}

}  // namespace troupe
