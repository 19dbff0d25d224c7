// The longest context, prompt and answer together, that an engine serves.
#pragma once
#include <cstdint>

#include "actors/start/engine_options.hpp"
#include "actors/start/start_device.hpp"

namespace troupe {

// In tokens: what the options ask for, or where they leave it open (0) what the model was trained for.
// Errors: invalid_argument, of more than that, and of less than 2.
result<std::int32_t> context_length(const engine_options& options, std::int32_t trained);

// As much of `context` as the KV cache of the started device holds, and of a CUDA device's cache three
// quarters at most: it may shrink, and be smaller with the next runner. Errors: invalid_argument where it is
// less and the options have asked for it, as vLLM has it (then of the whole cache); else a warning says so.
result<std::int32_t> context_in_cache(const engine_options& options, std::int32_t context,
                                      const started_device& started);

}  // namespace troupe
