// From what is scheduled to what a step needs.
#pragma once
#include <cstdint>

#include "runtime/kv_cache/kv_cache_manager.hpp"
#include "runtime/scheduler/schedule_batch.hpp"
#include "runtime/step_batch.hpp"

namespace troupe {

// Flattens the planned rows, in order, each sequence's contiguous, with the tables and copies of the
// reservation; says in each part whether it is sampled, and takes note of the step in each sequence. `batch`
// is one that nobody reads any more; its memory is used again.
void build_batch(step_batch& batch, std::uint64_t step, schedule_batch& planned,
                 const step_reservation& reservation, std::int32_t block_size);

}  // namespace troupe
