// From a draft model's file to what model_runner runs beside the model.
#pragma once
#include <memory>

#include "actors/load_engine.hpp"

namespace troupe {

// Loads the model of options.draft for an engine that is otherwise complete, with KV memory for as many
// tokens as the engine's; says in the log what it takes. Errors: those of load_model, load_tokenizer and
// make_cpu_executor, naming the file; invalid_argument for another vocabulary.
result<std::shared_ptr<draft_model>> load_draft_model(const engine_options& options,
                                                      const loaded_engine& engine);

}  // namespace troupe
