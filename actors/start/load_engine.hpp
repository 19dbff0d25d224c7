// From a model file to an engine that can be served.
#pragma once
#include "actors/start/engine_options.hpp"
#include "actors/start/loaded_engine.hpp"
#include "runtime/result.hpp"

namespace troupe {

// Checks the device, repacks the weights, runs the largest step and gives the KV cache its memory; says in
// the log what it does. A bucket that steps would be padded to but that there is no room for is left out,
// with a warning. Errors: those of check_cpu_device, load_model, load_tokenizer, load_chat_template and
// make_cpu_executor; invalid_argument for a context beyond the model's or the KV cache's, or a draft
// model of another vocabulary; internal where the device's process ends, or hangs, again and again.
result<loaded_engine> load_engine(const engine_options& options);

}  // namespace troupe
