#include "actors/load_engine.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

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

void log_kv_cache(const kv_layout& layout) {
  const double mebibytes = static_cast<double>(layout.num_blocks) *
                           static_cast<double>(layout.bytes_per_block) / static_cast<double>(1U << 20U);
  spdlog::info("KV cache: {} blocks of {} tokens in {}, {} bytes per block, {:.1f} MiB in all",
               layout.num_blocks, layout.block_size, layout.dtype, layout.bytes_per_block, mebibytes);
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
  cpu_executor_options cpu;
  cpu.limits = limits;
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

  loaded_engine engine;
  engine.device = std::move(*device);
  engine.vocabulary = std::move(*vocabulary);
  engine.chat = std::move(*chat);
  engine.name = std::filesystem::path(options.model_path).stem().string();
  engine.max_model_len = *length;
  return engine;
}

}  // namespace troupe
