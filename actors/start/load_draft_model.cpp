#include "actors/start/load_draft_model.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "actors/start/kept_tuning.hpp"
#include "runtime/drafting/draft_model.hpp"
#include "runtime/drafting/same_vocabulary.hpp"
#include "runtime/model/model.hpp"
#include "runtime/tokenizer/end_tokens.hpp"

namespace troupe {
namespace {

// A chunk of a prompt that running requests wait for between two steps.
constexpr std::int32_t most_rows_on_cpu = 256;
constexpr std::int32_t most_rows_on_cuda = 1024;
// Requests for whose drafts a device has room at once to keep what they are drawn from.
constexpr std::int32_t most_kept_at_once = 16;

double mebibytes(std::size_t bytes) { return static_cast<double>(bytes) / static_cast<double>(1U << 20U); }

result<draft_file> read(executor_place& place, const engine_options& options, const tokenizer& target) {
  const result<model_ptr> model = place.add_model(options.draft->model);
  if (!model) return tl::unexpected<error>(model.error());
  const result<tokenizer_ptr> vocabulary = load_tokenizer((*model)->file);
  if (!vocabulary) return tl::unexpected<error>(vocabulary.error());
  const auto same = check_same_vocabulary({target, options.model_path}, {**vocabulary, options.draft->model});
  if (!same) return tl::unexpected<error>(same.error());
  return draft_file{*model, end_tokens(**vocabulary), (*model)->config.vocab_size > target.vocab_size()};
}

// Of one of its steps.
std::int32_t most_rows(const engine_options& options) {
  const std::int32_t chunk = options.cuda ? most_rows_on_cuda : most_rows_on_cpu;
  return std::max(options.max_num_seqs, std::min(options.max_num_batched_tokens, chunk));
}

// A token that the target does not have must not be drawn where it counts what a draft is drawn from. On a
// CUDA device that counts only where somebody asks for it, since it passes through the host.
rejection_method rejection_of(const engine_options& options, const draft_file& file) {
  const rejection_method wanted = options.draft->rejection_sample_method;
  const bool is_dear = options.cuda && wanted == rejection_method::automatic;
  return file.has_more_tokens || is_dear ? rejection_method::strict : wanted;
}

draft_model_options limits_of(const draft_file& file, const engine_options& options,
                              const drafted_for& target) {
  const model_config& config = file.model->config;
  draft_model_options limits;
  limits.max_rows = most_rows(options);
  limits.max_sequences = options.max_num_seqs;
  limits.max_model_len = std::min(target.max_model_len, config.context_length);
  limits.vocab_size = target.vocab_size;
  limits.num_tokens = options.draft->num_speculative_tokens;
  limits.adaptive = options.draft->adaptive;
  limits.rejection = rejection_of(options, file);
  limits.most_pending = options.max_steps_in_flight;
  limits.now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  limits.end_tokens = file.end_tokens;
  return limits;
}

result<std::shared_ptr<executor>> open(executor_place& place, const draft_file& file,
                                       const engine_options& options, std::int32_t context,
                                       const std::string& choices) {
  cpu_executor_options cpu = executor_options_of(options, file.end_tokens);
  cpu.limits.max_rows = most_rows(options);
  cpu.limits.samples_of_sequence = 1;
  cpu.limits.max_model_len = std::min(context, file.model->config.context_length);
  if (rejection_of(options, file) != rejection_method::strict)
    cpu.limits.kept_at_once = std::min(options.max_num_seqs, most_kept_at_once);
  auto device = place.load(draft_model_number, cpu);
  if (!device) return tl::unexpected<error>(device.error());
  (*device)->use_choices(choices);
  const auto measured = (*device)->profile();
  if (!measured) return tl::unexpected<error>(measured.error());
  spdlog::info("draft model {}: steps of {} tokens take {:.1f} MiB beside {:.1f} MiB of weights",
               options.draft->model, cpu.limits.max_rows, mebibytes(measured->activations),
               mebibytes(measured->weights));
  return std::shared_ptr<executor>(std::move(*device));
}

draft_tuning tuning_of(executor& device, const engine_options& options) {
  draft_tuning tuning;
  tuning.key = tuning_key_of(device, options.threads);
  tuning.file = tuning_path(tuning.key, options.tuning_file, options.tuning_folder);
  if (!options.tuning_file.empty()) tuning.file += ".draft";  // the file is the model's own
  tuning.wanted =
      options.tune && device.plans() != nullptr && !use_kept_tuning(device, tuning.key, tuning.file);
  return tuning;
}

tl::unexpected<error> of_draft_model(const engine_options& options, const error& failure) {
  if (failure.param == "speculative_config") return tl::unexpected<error>(failure);
  const bool is_named = failure.message.starts_with(options.draft->model);
  return fail(
      failure.code,
      fmt::format("the draft model {}{}", is_named ? "" : options.draft->model + ": ", failure.message),
      "speculative_config");
}

}  // namespace

result<draft_file> read_draft_model(executor_place& place, const engine_options& options,
                                    const tokenizer& vocabulary) {
  spdlog::info("loading the draft model {}", options.draft->model);
  auto file = read(place, options, vocabulary);
  if (!file) return of_draft_model(options, file.error());
  return file;
}

result<std::shared_ptr<executor>> open_draft_device(executor_place& place, const draft_file& file,
                                                    const engine_options& options, std::int32_t context,
                                                    const std::string& choices) {
  auto device = open(place, file, options, context, choices);
  if (!device) return of_draft_model(options, device.error());
  return device;
}

kv_cache_claim claim_beside(const executor* drafting) {
  return {.bytes_beside = drafting != nullptr ? drafting->layout().bytes_per_block : 0};
}

result<std::shared_ptr<draft_model>> start_draft_model(std::shared_ptr<executor> device,
                                                       const draft_file& file, const engine_options& options,
                                                       const drafted_for& target, std::int32_t num_blocks) {
  if (const auto taken = device->take_kv_cache({.num_blocks = num_blocks}); !taken)
    return of_draft_model(options, taken.error());
  const kv_layout layout = device->layout();
  spdlog::info("draft model {}: KV cache of {} tokens, {:.1f} MiB; prompts in chunks of {} tokens",
               options.draft->model, std::int64_t{layout.num_blocks} * layout.block_size,
               mebibytes(static_cast<std::size_t>(layout.num_blocks) * layout.bytes_per_block),
               most_rows(options));
  draft_tuning tuning = tuning_of(*device, options);
  return std::make_shared<draft_model>(std::move(device), limits_of(file, options, target),
                                       std::move(tuning));
}

}  // namespace troupe
