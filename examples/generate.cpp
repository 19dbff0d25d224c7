// The engine without any actor: model file, text to go on with (no chat template), what follows it. Links the
// runtime library alone.
//
//   example_generate MODEL.gguf TEXT [MAX_TOKENS]
#include <cstdio>
#include <cstdlib>
#include <string>

#include "runtime/engine/engine.hpp"
#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/model/model.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace {

int complain(const troupe::error& error) {
  std::fprintf(stderr, "generate: %s\n", error.message.c_str());
  return 1;
}

// Prints the text as it comes.
int generate(troupe::engine& engine, const troupe::tokenizer_ptr& tokenizer, troupe::engine_request request) {
  if (auto accepted = engine.submit(std::move(request)); !accepted) return complain(accepted.error());
  troupe::incremental_detokenizer detokenizer(tokenizer, true);
  while (!engine.idle()) {
    for (const troupe::token_event& event : engine.step()) {
      for (const troupe::token_id token : event.tokens) std::fputs(detokenizer.push(token).c_str(), stdout);
      std::fflush(stdout);
      if (event.end && event.end->failure) return complain(*event.end->failure);
    }
  }
  std::puts(detokenizer.finish().c_str());
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) {
    std::fprintf(stderr,
                 "usage: %s MODEL.gguf TEXT [MAX_TOKENS]\nGoes on with TEXT, as in \"Once upon a time\".\n",
                 argv[0]);
    return 2;
  }
  const int max_tokens = argc > 3 ? std::atoi(argv[3]) : 64;
  if (max_tokens < 1)
    return complain({troupe::error_code::invalid_argument, "MAX_TOKENS must be at least 1"});
  const auto model = troupe::load_model(argv[1]);
  if (!model) return complain(model.error());
  const auto tokenizer = troupe::load_tokenizer((*model)->file);
  if (!tokenizer) return complain(tokenizer.error());

  troupe::cpu_executor_options options;
  options.limits.max_sequences = 1;
  options.limits.max_model_len = (*model)->config.context_length;
  options.limits.kv_cache_bytes = 256U << 20U;
  auto device = troupe::make_cpu_executor(*model, options);
  if (!device) return complain(device.error());

  troupe::scheduler_limits limits;
  limits.max_num_seqs = options.limits.max_sequences;
  limits.max_num_batched_tokens = options.limits.max_rows;
  limits.max_model_len = options.limits.max_model_len;
  for (troupe::token_id id = 0; id < (*tokenizer)->vocab_size(); ++id) {
    if ((*tokenizer)->is_end_of_generation(id)) limits.end_tokens.push_back(id);
  }
  troupe::engine engine(std::move(*device), limits);

  troupe::sampling_params greedy;
  greedy.temperature = 0.0F;
  greedy.max_tokens = max_tokens;
  return generate(engine, *tokenizer,
                  {.id = 1,
                   .prompt = (*tokenizer)->encode(argv[2], {}),
                   .sampling = std::make_shared<const troupe::sampling_params>(greedy)});
}
