// From what is planned to what the device reads.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/scheduler/sequence.hpp"
#include "runtime/step_batch.hpp"

namespace troupe {

// Flattens the planned rows, in order, each sequence's contiguous. `block_tables` are those of the
// reservation.
step_batch_ptr build_batch(std::uint64_t step, std::span<const planned_rows> planned,
                           const std::vector<std::int32_t>& block_tables, std::int32_t block_size);

}  // namespace troupe
