// Scratch steps that make an executor touch everything once before the first request: code, memory, thread
// team.
#pragma once
#include <string>
#include <vector>

#include "runtime/executor/executor.hpp"
#include "runtime/step_batch.hpp"

namespace troupe {

struct warm_up_item {
  std::string name;  // "prefill, 512 tokens"; "decode, batch 4"
  step_batch_ptr batch;
};

// One prefill of as many rows as a step may have, and one decode of each batch size 1, 2, 4, ...,
// max_sequences. The batches use blocks from the pool's start as if nobody held any: run them only while no
// sequence does. What they leave in KV memory is never read, since a row reads only what its own sequence has
// written before.
std::vector<warm_up_item> warm_up_items(const kv_layout& layout, const executor_limits& limits,
                                        std::int32_t vocab_size);

}  // namespace troupe
