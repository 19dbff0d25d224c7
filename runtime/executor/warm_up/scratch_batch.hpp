// The steps of the warm-up as the device reads them: their rows read and write the scratch block alone.
#pragma once
#include <cstdint>

#include "runtime/executor/device_batch.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/warm_up/warm_up.hpp"

namespace troupe {

// The scratch step of an item: rows of its sequences at the end of their context, one greedy sample each.
// What a step can never be (beyond the limits or the longest context) is cut to what it can.
device_batch scratch_batch(const warm_up_item& item, const kv_layout& layout, const executor_limits& limits,
                           std::int32_t vocab_size);

// The largest step there can be: as many rows as the limits allow, over as many sequences, each sampled at
// random.
device_batch profiling_batch(const kv_layout& layout, const executor_limits& limits, std::int32_t vocab_size);

}  // namespace troupe
