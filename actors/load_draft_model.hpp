// From a draft model's file to what model_runner runs beside the model.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "actors/load_engine.hpp"
#include "runtime/isolation/executor_place.hpp"
#include "runtime/model/model.hpp"

namespace troupe {

// The numbers of the models of an executor_place.
inline constexpr std::size_t target_model = 0;
inline constexpr std::size_t draft_model_number = 1;

// A draft model's file, read and packed.
struct draft_file {
  model_ptr model;
  std::vector<token_id> end_tokens;
};

// The file of options.draft, as the second model of `place`. Errors: those of executor_place::add_model and
// load_tokenizer, naming the file; invalid_argument for another vocabulary than the model's.
result<draft_file> read_draft_model(executor_place& place, const engine_options& options,
                                    const tokenizer& vocabulary);

// What a draft model must suit: the model that it drafts for.
struct drafted_for {
  std::int32_t max_model_len = 0;
  std::int32_t vocab_size = 0;
  kv_layout layout;
};

// That model on a device beside the one of the model that it drafts for, with KV memory for as many tokens;
// says in the log what it takes. Errors: those of executor_place::load, naming the file.
result<std::shared_ptr<draft_model>> load_draft_model(executor_place& place, const draft_file& file,
                                                      const engine_options& options,
                                                      const drafted_for& target);

}  // namespace troupe
