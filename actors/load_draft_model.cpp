#include "actors/load_draft_model.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <chrono>
#include <utility>

#include "runtime/drafting/draft_model.hpp"
#include "runtime/drafting/same_vocabulary.hpp"
#include "runtime/executor/cpu_device.hpp"
#include "runtime/executor/kv_pool.hpp"
#include "runtime/model/model.hpp"

namespace troupe {
namespace {

// A chunk of a prompt that running requests wait for between two steps.
constexpr std::int32_t most_rows = 256;

double mebibytes(std::size_t bytes) { return static_cast<double>(bytes) / static_cast<double>(1U << 20U); }

// Bytes of a KV cache that holds as many tokens as the engine's.
result<std::size_t> kv_bytes(const engine_options& options, const kv_layout& target,
                             const model_config& config) {
  const auto device = check_cpu_device(options.kernel_path, options.dtype, options.kv_cache_dtype);
  if (!device) return tl::unexpected<error>(device.error());
  const auto scratch = kv_pool::create_scratch(config, device->kv_dtype, target.block_size);
  if (!scratch) return tl::unexpected<error>(scratch.error());
  return static_cast<std::size_t>(target.num_blocks) * scratch->layout().bytes_per_block;
}

result<draft_file> read(executor_place& place, const engine_options& options, const tokenizer& target) {
  const result<model_ptr> model = place.add_model(options.draft->model);
  if (!model) return tl::unexpected<error>(model.error());
  const result<tokenizer_ptr> vocabulary = load_tokenizer((*model)->file);
  if (!vocabulary) return tl::unexpected<error>(vocabulary.error());
  const auto same = check_same_vocabulary({target, options.model_path}, {**vocabulary, options.draft->model});
  if (!same) return tl::unexpected<error>(same.error());
  return draft_file{*model, end_tokens(**vocabulary)};
}

draft_model_options limits_of(const draft_file& file, const engine_options& options,
                              const drafted_for& target) {
  const model_config& config = file.model->config;
  draft_model_options limits;
  limits.max_rows = std::max(options.max_num_seqs, std::min(options.max_num_batched_tokens, most_rows));
  limits.max_sequences = options.max_num_seqs;
  limits.max_model_len = std::min(target.max_model_len, config.context_length);
  limits.vocab_size = target.vocab_size;
  limits.num_tokens = options.draft->num_speculative_tokens;
  limits.adaptive = options.draft->adaptive;
  // A token that the target does not have must not be drawn where it counts what a draft is drawn from.
  const bool has_others = config.vocab_size > limits.vocab_size;
  limits.rejection = has_others ? rejection_method::strict : options.draft->rejection_sample_method;
  limits.most_pending = options.max_steps_in_flight;
  limits.now = [] { return std::chrono::steady_clock::now().time_since_epoch(); };
  limits.end_tokens = file.end_tokens;
  return limits;
}

// With KV memory for as many tokens as the target's.
result<std::unique_ptr<executor>> start(executor_place& place, const draft_file& file,
                                        const engine_options& options, const draft_model_options& limits,
                                        const kv_layout& target) {
  const result<std::size_t> bytes = kv_bytes(options, target, file.model->config);
  if (!bytes) return tl::unexpected<error>(bytes.error());
  cpu_executor_options cpu = executor_options_of(options, file.end_tokens);
  cpu.limits.max_rows = limits.max_rows;
  cpu.limits.max_model_len = limits.max_model_len;
  cpu.limits.kv_cache_bytes = *bytes;
  cpu.memory_utilization = 0;
  auto device = place.load(draft_model_number, cpu);
  if (!device) return device;
  if (const auto measured = (*device)->profile(); !measured) return tl::unexpected<error>(measured.error());
  if (const auto taken = (*device)->take_kv_cache(); !taken) return tl::unexpected<error>(taken.error());
  spdlog::info("draft model {}: KV cache of {} tokens, {:.1f} MiB; prompts in chunks of {} tokens",
               options.draft->model, std::int64_t{target.num_blocks} * target.block_size, mebibytes(*bytes),
               limits.max_rows);
  return device;
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

result<std::shared_ptr<draft_model>> load_draft_model(executor_place& place, const draft_file& file,
                                                      const engine_options& options,
                                                      const drafted_for& target) {
  draft_model_options limits = limits_of(file, options, target);
  auto device = start(place, file, options, limits, target.layout);
  if (!device) return of_draft_model(options, device.error());
  draft_tuning tuning = tuning_of(**device, options);
  return std::make_shared<draft_model>(std::move(*device), std::move(limits), std::move(tuning));
}

}  // namespace troupe
