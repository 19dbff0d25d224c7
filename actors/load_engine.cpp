#include "actors/load_engine.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "runtime/executor/cpu_executor.hpp"
#include "runtime/model/model.hpp"

namespace troupe {
namespace {

constexpr const char* template_key = "tokenizer.chat_template";

result<std::shared_ptr<const chat_template>> load_chat_template(const gguf::file& file) {
  if (file.find(template_key) == nullptr) {
    spdlog::warn("the model has no chat template: ChatML is used");
    return std::make_shared<const chat_template>(chat_template::chatml());
  }
  const result<std::string_view> source = file.get_string(template_key);
  if (!source) return tl::unexpected<error>(source.error());
  result<chat_template> compiled = chat_template::compile(*source);
  if (!compiled)
    return fail(compiled.error().code, fmt::format("{}: {}", template_key, compiled.error().message));
  return std::make_shared<const chat_template>(std::move(*compiled));
}

result<std::int32_t> context_length(std::int32_t wanted, std::int32_t trained) {
  if (wanted == 0) return trained;
  if (wanted < 0 || wanted > trained)
    return fail(error_code::invalid_argument,
                fmt::format("max_model_len is {}, but the model holds {} tokens", wanted, trained),
                "max_model_len");
  return wanted;
}

// The context that the KV cache can hold. As vLLM, an answer of its own to a context that was asked for,
// where `wanted` is not 0.
result<std::int32_t> context_in_cache(const engine_options& options, std::int32_t context,
                                      const kv_layout& layout) {
  const std::int64_t held = std::int64_t{layout.num_blocks} * layout.block_size;
  if (held >= context) return context;
  const std::int64_t blocks = (context + layout.block_size - 1) / layout.block_size;
  const std::uint64_t needed = static_cast<std::uint64_t>(blocks) * layout.bytes_per_block;
  const std::string remedy = fmt::format("raise kv_cache_memory to {} MiB", (needed >> 20U) + 1);
  if (options.max_model_len > 0)
    return fail(error_code::invalid_argument,
                fmt::format("max_model_len is {}, but the KV cache holds only {} tokens: lower max_model_len "
                            "to {}, or {}",
                            context, held, held, remedy),
                "max_model_len");
  spdlog::warn(
      "the model's context is {} tokens, but the KV cache holds only {}: max_model_len is {}; {} for all of "
      "it",
      context, held, held, remedy);
  return static_cast<std::int32_t>(held);
}

void log_kv_cache(const kv_layout& layout) {
  const double mebibytes = static_cast<double>(layout.num_blocks) *
                           static_cast<double>(layout.bytes_per_block) / static_cast<double>(1U << 20U);
  spdlog::info("KV cache: {} blocks of {} tokens in {}, {} bytes per block, {:.1f} MiB in all",
               layout.num_blocks, layout.block_size, layout.dtype, layout.bytes_per_block, mebibytes);
}

engine_sizes sizes_of(const engine_options& options, std::int32_t max_model_len, std::int32_t num_blocks) {
  return {options.max_num_seqs, options.max_num_batched_tokens, options.block_size, max_model_len,
          num_blocks};
}

// What padded steps may need. Rows and batch sizes do not depend on the number of blocks, which is not known
// before the device has its memory.
result<padded_limits> padded_step(const engine_options& options, std::int32_t max_model_len) {
  if (!options.pad_to_buckets.value_or(false)) return padded_limits{};
  const bucket_dimension& blocks = options.bucketing.decode.blocks;
  const std::int32_t any = std::max({1, options.block_size, blocks.min.value_or(1), blocks.max.value_or(1)});
  const auto plan = make_buckets(options.bucketing, sizes_of(options, max_model_len, any));
  if (!plan) return tl::unexpected<error>(plan.error());
  return largest_padded(*plan, options.max_num_batched_tokens, options.max_num_seqs);
}

}  // namespace

std::vector<token_id> end_tokens(const tokenizer& vocabulary) {
  std::vector<token_id> ids;
  for (token_id id = 0; id < vocabulary.vocab_size(); ++id)
    if (vocabulary.is_end_of_generation(id)) ids.push_back(id);
  return ids;
}

result<loaded_engine> load_engine(const engine_options& options) {
  spdlog::info("loading {}", options.model_path);
  const result<model_ptr> model = load_model(options.model_path);
  if (!model) return tl::unexpected<error>(model.error());
  result<tokenizer_ptr> vocabulary = load_tokenizer((*model)->file);
  if (!vocabulary) return tl::unexpected<error>(vocabulary.error());
  result<std::shared_ptr<const chat_template>> chat = load_chat_template((*model)->file);
  if (!chat) return tl::unexpected<error>(chat.error());
  const result<std::int32_t> length = context_length(options.max_model_len, (*model)->config.context_length);
  if (!length) return tl::unexpected<error>(length.error());

  const executor_limits limits{.max_rows = options.max_num_batched_tokens,
                               .max_sequences = options.max_num_seqs,
                               .max_model_len = *length,
                               .block_size = options.block_size,
                               .kv_cache_bytes = options.kv_cache_bytes};
  const result<padded_limits> padded = padded_step(options, *length);
  if (!padded) return tl::unexpected<error>(padded.error());
  cpu_executor_options cpu;
  cpu.limits = limits;
  cpu.limits.max_rows = std::max(limits.max_rows, padded->rows);
  cpu.limits.max_sequences = std::max(limits.max_sequences, padded->sequences);
  cpu.memory_utilization = options.memory_utilization;
  cpu.threads = options.threads;
  cpu.kernel_path = options.kernel_path;
  cpu.kv_cache_dtype = options.kv_cache_dtype;
  cpu.end_tokens = end_tokens(**vocabulary);
  result<std::unique_ptr<executor>> device = make_cpu_executor(*model, cpu);
  if (!device) return tl::unexpected<error>(device.error());
  const kv_layout layout = (*device)->layout();
  spdlog::info("weights packed for {}", (*device)->kernel_path());
  log_kv_cache(layout);
  const result<std::int32_t> max_model_len = context_in_cache(options, *length, layout);
  if (!max_model_len) return tl::unexpected<error>(max_model_len.error());

  loaded_engine engine;
  engine.device = std::move(*device);
  engine.vocabulary = std::move(*vocabulary);
  engine.chat = std::move(*chat);
  engine.name = std::filesystem::path(options.model_path).stem().string();
  engine.max_model_len = *max_model_len;
  engine.pad_to_buckets = options.pad_to_buckets.value_or(engine.device->fixed_shapes());
  engine.padded = *padded;
  auto buckets = make_buckets(options.bucketing, sizes_of(options, *max_model_len, layout.num_blocks));
  if (!buckets) return tl::unexpected<error>(buckets.error());
  engine.buckets = std::move(*buckets);
  return engine;
}

}  // namespace troupe
