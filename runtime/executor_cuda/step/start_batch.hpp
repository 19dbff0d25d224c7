// The step that the start profiles a device with.
#pragma once
#include "runtime/executor/device_batch.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/model/model.hpp"

namespace troupe {

// The largest step within `limits`, and in it what no step of the warm-up has: log-probabilities, a copied
// block, and a draft that is accepted or rejected by chance or, in an executor that keeps what it draws from
// (executor_limits::kept_at_once), is drawn. Their kernels are loaded by it, before the KV cache has taken
// the memory. For an executor that has no KV cache so far: block 0 is the scratch block. `kept` outlives the
// batch. Throws what check_batch() throws.
device_batch start_batch(const model_config& config, const kv_layout& layout, const executor_limits& limits,
                         kept_distribution& kept);

}  // namespace troupe
