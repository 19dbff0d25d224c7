// From a draft model's file to what model_runner runs beside the model.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "actors/start/engine_options.hpp"
#include "runtime/drafting/draft_model.hpp"
#include "runtime/isolation/executor_place.hpp"
#include "runtime/model/model.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

// The numbers of the models of an executor_place.
inline constexpr std::size_t target_model = 0;
inline constexpr std::size_t draft_model_number = 1;

// A draft model's file, read and packed.
struct draft_file {
  model_ptr model;
  std::vector<token_id> end_tokens;
  bool has_more_tokens = false;  // than the model that it drafts for
};

// The file of options.draft, as the second model of `place`. Errors: those of executor_place::add_model and
// load_tokenizer, naming the file; invalid_argument for another vocabulary than the model's.
result<draft_file> read_draft_model(executor_place& place, const engine_options& options,
                                    const tokenizer& vocabulary);

// What a draft model must suit: the model that it drafts for.
struct drafted_for {
  std::int32_t max_model_len = 0;
  std::int32_t vocab_size = 0;
};

// That model's executor beside the one of the model that it drafts for, before either has its KV cache: so
// that they can share what memory is left. `context`: the longest, of a target's sequence. `choices`: those
// of the executor before it, or none. Errors: those of executor_place::load() and executor::profile(), naming
// the file.
result<std::shared_ptr<executor>> open_draft_device(executor_place& place, const draft_file& file,
                                                    const engine_options& options, std::int32_t context,
                                                    const std::string& choices);

// What the target takes of the memory that is left beside that executor; null: all.
kv_cache_claim claim_beside(const executor* drafting);

// The draft model on it, with KV memory for as many tokens as the target has, which `num_blocks` blocks of
// the same size are; says in the log what it takes. Errors: those of executor::take_kv_cache(), naming the
// file.
result<std::shared_ptr<draft_model>> start_draft_model(std::shared_ptr<executor> device,
                                                       const draft_file& file, const engine_options& options,
                                                       const drafted_for& target, std::int32_t num_blocks);

}  // namespace troupe
