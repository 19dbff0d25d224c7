#pragma once
#include "runtime/executor/executor.hpp"
#include "runtime/model/model.hpp"
#include "runtime/step_batch.hpp"

namespace troupe {

// Throws std::invalid_argument for a batch that would lead an executor outside its memory: a token, position,
// slot, block or row out of range, too many rows or sequences, or parts that do not fit together.
void check_batch(const step_batch& batch, const model_config& config, const executor_limits& limits,
                 const kv_layout& layout);

}  // namespace troupe
