// What a step asks of the KV cache and what it gets. Both are reused from step to step.
#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/block_copy.hpp"
#include "runtime/kv_cache/block_table.hpp"
#include "runtime/request.hpp"

namespace troupe {

// A sequence that has no grant yet.
inline constexpr std::int32_t no_place = -1;

// "After this step the sequence holds `num_tokens` tokens": idempotent, asking twice costs nothing. The first
// demand of a sequence asks for all its known tokens, so that its cached prefix is found; a decode whose
// tokens find room in the blocks that it has need not ask.
struct sequence_demand {
  request_id id = 0;
  std::int32_t num_tokens = 0;
  std::int32_t keep_free = 0;  // blocks that must stay free after this grant: watermark, others' reservations
  // Leading tokens whose K and V committed steps have written. Lets others share the chunks of a prompt
  // before its end; 0 is always safe.
  std::int32_t num_stored = 0;
  std::int32_t place = no_place;  // where the KV cache keeps it, as its last grant said
  // Tokens behind num_tokens that may be computed for nothing: they get room after all demands, in order, as
  // far as free blocks reach. The table granted says how far.
  std::int32_t num_drafts = 0;
};

// A sequence whose drafts took more room than its tokens need.
struct block_trim {
  request_id id = 0;
  std::int32_t num_tokens = 0;  // that it goes on with room for
  std::int32_t place = no_place;
};

// Blocks to give back: `last_step` is the last step that may still write them. A preempted request asks for
// blocks again later.
struct block_release {
  request_id id = 0;
  std::uint64_t last_step = 0;
  bool preempted = false;
  std::int32_t place = no_place;
};

// The sequence's next `count` tokens, known to the scheduler and not yet to the KV cache.
struct token_append {
  request_id id = 0;
  std::int32_t count = 0;
  std::int32_t place = no_place;
};

struct step_demand {
  std::uint64_t step = 0;
  std::vector<sequence_demand> sequences = {};  // in order of precedence
  std::vector<request_id> prefix_queries = {};  // waiting requests whose cached length is wanted
  std::vector<block_release> releases =
      {};  // of who was preempted since the last one, before anything is granted
};

struct sequence_grant {
  request_id id = 0;
  bool granted = false;
  std::int32_t blocks_needed = 0;  // where refused: how many free blocks it wanted
  // Where granted: its whole table, which may grow behind that. Valid until the last step that the sequence
  // is released with is committed, as its blocks are.
  std::span<const std::int32_t> table = {};
  // Leading tokens whose K and V came from the cache or from a fork: set in the step of the first grant (also
  // when that step is asked for again), less than both the known and the demanded tokens.
  std::int32_t num_cached = 0;
  std::int32_t place = no_place;  // to be told with its next demand, which is found sooner by it
};
struct step_reservation {
  std::uint64_t step = 0;
  std::int32_t free_blocks = 0;  // after the grants; cached blocks that nobody uses count as free
  // One per demand, same order; all after the first refusal are refused.
  std::vector<sequence_grant> sequences = {};
  std::shared_ptr<const table_memory> tables = {};  // where they are, also when the KV cache is gone
  std::vector<block_copy> copies = {};
  std::vector<std::int32_t> cached_lengths = {};  // tokens, one per prefix query
};

}  // namespace troupe
