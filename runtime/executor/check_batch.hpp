#pragma once
#include "runtime/executor/device_batch.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/model/model.hpp"

namespace troupe {

// Throws std::invalid_argument for a batch that would lead an executor outside its memory: a token, position,
// slot, block or row out of range, too many rows or sequences, or parts that do not fit together.
void check_batch(const device_batch& batch, const model_config& config, const executor_limits& limits,
                 const kv_layout& layout);

// Throws std::logic_error where an executor has not answered for every row that is sampled, and for every
// prompt row.
void check_result(const device_batch& batch, const step_result& result);

}  // namespace troupe
