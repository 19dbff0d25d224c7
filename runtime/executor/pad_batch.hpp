// A step's device arrays rounded up to its buckets, for devices that run fixed shapes.
//
// In a bucket (batch, query, blocks) the rows of each of its `batch` sequences take `query` places, and its
// block table the places of blocks + what the query itself may touch; sequences that are not there are empty.
// Prompts and decodes of one step are rounded up apart. A padding row holds token 0 at position 0, writes no
// K or V (no_slot), is attended by nobody and sampled by nobody; a padding entry of a block table names no
// block (no_block). So padding takes no KV block, and nothing of it reaches a result.
#pragma once
#include <cstdint>

#include "runtime/bucketing/step_buckets.hpp"
#include "runtime/executor/device_batch.hpp"

namespace troupe {

// Fills `out` (reused: cleared, not freed) with `in` in its buckets; what has no bucket stays as it is. The
// samples keep their order. `num_padding` counts the rows that were added.
void pad_batch(const device_batch& in, const step_placement& placement, std::int32_t block_size,
               device_batch& out, std::int32_t& num_padding);

// The most rows and sequences that a step of these buckets can have: what an executor must hold.
struct padded_limits {
  std::int32_t rows = 0;
  std::int32_t sequences = 0;
};
padded_limits largest_padded(const bucket_plan& plan, std::int32_t max_rows, std::int32_t max_sequences);

}  // namespace troupe
