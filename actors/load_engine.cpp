#include "actors/load_engine.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "actors/device_plan.hpp"
#include "actors/load_draft_model.hpp"
#include "kernels/dispatch.hpp"
#include "runtime/blocks_for.hpp"
#include "runtime/drafting/draft_model.hpp"
#include "runtime/executor/cpu_device.hpp"
#include "runtime/executor/fit_buckets.hpp"
#include "runtime/executor/usable_cores.hpp"
#include "runtime/isolation/executor_place.hpp"
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

constexpr std::int32_t usual_cuda_context = 4096;

result<std::int32_t> context_length(const engine_options& options, std::int32_t trained) {
  const std::int32_t wanted = options.max_model_len;
  if (wanted == 0) return options.cuda ? std::min(usual_cuda_context, trained) : trained;
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
  const std::int64_t blocks = blocks_for(context, layout.block_size);
  const std::uint64_t needed = static_cast<std::uint64_t>(blocks) * layout.bytes_per_block;
  const std::string remedy =
      options.cuda ? fmt::format("raise gpu_memory_utilization: it takes {} MiB", (needed >> 20U) + 1)
                   : fmt::format("raise kv_cache_memory to {} MiB", (needed >> 20U) + 1);
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

void log_kv_cache(const engine_options& options, const memory_profile& profile, const kv_layout& layout) {
  const double mebibytes = static_cast<double>(layout.num_blocks) *
                           static_cast<double>(layout.bytes_per_block) / static_cast<double>(1U << 20U);
  const std::string source = options.cuda && options.cuda->memory_utilization > 0
                                 ? fmt::format("gpu_memory_utilization {}", options.cuda->memory_utilization)
                             : options.memory_utilization > 0
                                 ? fmt::format("memory_utilization {} of {} MiB", options.memory_utilization,
                                               profile.available >> 20U)
                                 : fmt::format("kv_cache_memory {} MiB", options.kv_cache_bytes >> 20U);
  spdlog::info("KV cache: {} blocks of {} tokens in {}, {} bytes per block, {:.1f} MiB in all ({})",
               layout.num_blocks, layout.block_size, layout.dtype, layout.bytes_per_block, mebibytes, source);
}

void log_profile(const executor_limits& limits, const memory_profile& profile) {
  spdlog::info(
      "profiling: a step of {} tokens and {} sequences takes {:.1f} MiB beside {:.1f} MiB of weights; {} MiB "
      "are free for the KV cache",
      limits.max_rows, limits.max_sequences, static_cast<double>(profile.activations) / (1U << 20U),
      static_cast<double>(profile.weights) / (1U << 20U), profile.available >> 20U);
}

engine_sizes sizes_of(const engine_options& options, std::int32_t max_model_len, std::int32_t num_blocks) {
  return {options.max_num_seqs, options.max_num_batched_tokens, options.block_size, max_model_len,
          num_blocks};
}

// Reserves what padded steps may need; buckets that there is no room for are left out, with a warning. Rows
// and batch sizes do not depend on the number of blocks, which is not known before the device has its memory.
result<padded_limits> reserve_buckets(const engine_options& options, std::int32_t max_model_len,
                                      executor& device, std::optional<std::int64_t>& too_many_rows) {
  padded_limits holds;
  if (!options.pad_to_buckets.value_or(device.fixed_shapes())) return holds;
  const bucket_dimension& blocks = options.bucketing.decode.blocks;
  const std::int32_t any = std::max({1, options.block_size, blocks.min.value_or(1), blocks.max.value_or(1)});
  auto plan = make_buckets(options.bucketing, sizes_of(options, max_model_len, any));
  if (!plan) return tl::unexpected<error>(plan.error());
  const auto reserve = [&](const padded_limits& most) {
    return device.reserve_steps(most.rows, most.sequences);
  };
  for (const buckets_left_out& each :
       fit_buckets(*plan, options.max_num_batched_tokens, options.max_num_seqs, reserve, holds)) {
    too_many_rows = each.rows;  // fewer each time
    const std::string others =
        each.count > 1 ? fmt::format(" and {} more of {} rows", each.count - 1, each.rows) : "";
    spdlog::warn("{}{} left out: {}", each.first, others, each.why);
  }
  return holds;
}

// In a line for people.
result<std::string> check_device(const engine_options& options) {
  if (!options.cuda) {
    const auto cpu = check_cpu_device(options.kernel_path, options.dtype, options.kv_cache_dtype);
    if (!cpu) return tl::unexpected<error>(cpu.error());
    return describe(*cpu);
  }
  if (!options.cuda_devices.find)
    return fail(error_code::unsupported, "this program was built without CUDA: device must be cpu", "device");
  if (options.draft)
    return fail(error_code::unsupported, "a draft model runs on the CPU alone: device must be cpu",
                "speculative_config");
  return options.cuda_devices.find(options.cuda->device_id);
}

// The batch sizes of the decode buckets; without buckets those that vLLM's and others' graphs begin with.
std::vector<std::int32_t> graph_rows(const engine_options& options, std::int32_t max_model_len) {
  if (!options.cuda || !options.cuda->graphs) return {};
  const std::int32_t blocks = std::max(1, max_model_len / options.block_size);
  const auto plan = make_buckets(options.bucketing, sizes_of(options, max_model_len, blocks));
  if (!plan || plan->decode.empty()) return {1, 2, 4, 8, 16, 32};
  std::vector<std::int32_t> rows;
  for (const bucket& each : plan->decode) rows.push_back(each.batch);
  std::ranges::sort(rows);
  rows.erase(std::ranges::unique(rows).begin(), rows.end());
  return rows;
}

// The device with its weights and all its memory: the phases of the start that come before the warm-up.
struct started_device {
  std::shared_ptr<executor> device;
  cpu_executor_options options;  // of another device that is the same
  std::optional<cpu_executor_options> last_resort;
  padded_limits padded;
  std::optional<std::int64_t> too_many_rows;  // buckets of so many are left out
};

result<started_device> start_device(executor_place& place, const engine_options& options,
                                    const tokenizer& vocabulary, std::int32_t max_model_len,
                                    const model_config& config) {
  cpu_executor_options cpu = executor_options_of(options, end_tokens(vocabulary));
  cpu.limits.max_model_len = max_model_len;
  started_device out;
  if (options.cuda && options.cpu_after_device_loss) {
    auto last_resort = options_on_cpu(options, config, cpu);
    if (!last_resort) return tl::unexpected<error>(last_resort.error());
    out.last_resort = std::move(*last_resort);
  }
  place.set_graph_rows(graph_rows(options, max_model_len));
  auto device = load_target(place, cpu);
  if (!device) return tl::unexpected<error>(device.error());
  spdlog::info("weights {} for {}", options.cuda ? "copied" : "packed", (*device)->kernel_path());

  options.on_phase("profiling");
  const auto padded = reserve_buckets(options, max_model_len, **device, out.too_many_rows);
  if (!padded) return tl::unexpected<error>(padded.error());
  const result<memory_profile> profile = (*device)->profile();
  if (!profile) return tl::unexpected<error>(profile.error());
  executor_limits largest = cpu.limits;
  largest.max_rows = std::max(largest.max_rows, padded->rows);
  largest.max_sequences = std::max(largest.max_sequences, padded->sequences);
  log_profile(largest, *profile);
  if (const auto taken = (*device)->take_kv_cache(); !taken) return tl::unexpected<error>(taken.error());
  log_kv_cache(options, *profile, (*device)->layout());
  out.device = std::move(*device);
  out.padded = *padded;
  out.options = cpu;
  if (options.cuda) return out;  // its share is of the same memory again
  const kv_layout layout = out.device->layout();
  cpu.limits.kv_cache_bytes = static_cast<std::size_t>(layout.num_blocks) * layout.bytes_per_block;
  cpu.memory_utilization = 0;
  out.options = std::move(cpu);
  return out;
}

result<std::optional<draft_file>> read_draft_file(executor_place& place, const engine_options& options,
                                                  const tokenizer& vocabulary) {
  if (!options.draft) return std::nullopt;
  auto file = read_draft_model(place, options, vocabulary);
  if (!file) return tl::unexpected<error>(file.error());
  return std::move(*file);
}

}  // namespace

cpu_executor_options executor_options_of(const engine_options& options, std::vector<token_id> end_tokens) {
  cpu_executor_options out;
  out.limits = {.max_rows = options.max_num_batched_tokens,
                .max_sequences = options.max_num_seqs,
                .block_size = options.block_size,
                .kv_cache_bytes = options.kv_cache_bytes};
  out.memory_utilization = options.memory_utilization;
  out.threads = options.threads;
  out.kernel_path = options.kernel_path;
  out.dtype = options.dtype;
  out.kv_cache_dtype = options.kv_cache_dtype;
  out.end_tokens = std::move(end_tokens);
  return out;
}

std::vector<token_id> end_tokens(const tokenizer& vocabulary) {
  std::vector<token_id> ids;
  for (token_id id = 0; id < vocabulary.vocab_size(); ++id)
    if (vocabulary.is_end_of_generation(id)) ids.push_back(id);
  return ids;
}

tuning_key tuning_key_of(executor& device, std::int32_t threads) {
  tuning_key key;
  key.cpu = kernels::cpu_model();
  key.kernel_path = device.kernel_path();
  key.threads = threads > 0 ? threads : usable_cores();
  if (const step_plans* plans = device.plans()) key.shape = plans->shape();
  return key;
}

result<std::size_t> use_plans(executor& device, const tuning_key& key, const std::filesystem::path& file) {
  const result<tuned_plans> kept = read_tuning_file(file, key);
  if (!kept) return tl::unexpected<error>(kept.error());
  for (const auto& [rows, plan] : *kept) device.plans()->use(rows, plan);
  return kept->size();
}

bool use_kept_tuning(executor& device, const tuning_key& key, const std::filesystem::path& file) {
  if (file.empty() || device.plans() == nullptr) return false;
  const result<std::size_t> kept = use_plans(device, key, file);
  if (!kept) {
    if (kept.error().code != error_code::not_found)
      spdlog::warn("{}: plans are chosen anew", kept.error().message);
    return false;
  }
  spdlog::info("tuning of {} row counts read from {}", *kept, file.string());
  return true;
}

result<loaded_engine> load_engine(const engine_options& options) {
  options.on_phase("device check");
  const result<std::string> checked = check_device(options);
  if (!checked) return tl::unexpected<error>(checked.error());
  spdlog::info("device: {}", *checked);

  options.on_phase("weights");
  spdlog::info("loading {}", options.model_path);
  const auto place = std::make_shared<executor_place>(options.isolation, options.cuda, options.cuda_devices);
  const result<model_ptr> model = place->add_model(options.model_path);
  if (!model) return tl::unexpected<error>(model.error());
  result<tokenizer_ptr> vocabulary = load_tokenizer((*model)->file);
  if (!vocabulary) return tl::unexpected<error>(vocabulary.error());
  result<std::shared_ptr<const chat_template>> chat = load_chat_template((*model)->file);
  if (!chat) return tl::unexpected<error>(chat.error());
  const result<std::int32_t> length = context_length(options, (*model)->config.context_length);
  if (!length) return tl::unexpected<error>(length.error());
  const auto draft = read_draft_file(*place, options, **vocabulary);
  if (!draft) return tl::unexpected<error>(draft.error());
  result<started_device> started = start_device(*place, options, **vocabulary, *length, (*model)->config);
  if (!started) return tl::unexpected<error>(started.error());
  const kv_layout layout = started->device->layout();
  const result<std::int32_t> max_model_len = context_in_cache(options, *length, layout);
  if (!max_model_len) return tl::unexpected<error>(max_model_len.error());

  loaded_engine engine;
  engine.device = started->device;
  engine.vocabulary = std::move(*vocabulary);
  engine.chat = std::move(*chat);
  engine.name = std::filesystem::path(options.model_path).stem().string();
  engine.max_model_len = *max_model_len;
  engine.pad_to_buckets = options.pad_to_buckets.value_or(engine.device->fixed_shapes());
  engine.padded = started->padded;
  auto buckets = make_buckets(options.bucketing, sizes_of(options, *max_model_len, layout.num_blocks));
  if (!buckets) return tl::unexpected<error>(buckets.error());
  if (started->too_many_rows) remove_from(*buckets, *started->too_many_rows);
  engine.buckets = std::move(*buckets);
  engine.tuned_for = tuning_key_of(*engine.device, options.threads);
  engine.tuning_file = tuning_path(engine.tuned_for, options.tuning_file, options.tuning_folder);
  engine.tune = options.tune && engine.device->plans() != nullptr;
  if (engine.tune && use_kept_tuning(*engine.device, engine.tuned_for, engine.tuning_file))
    for (const auto& [rows, plan] : engine.device->plans()->chosen()) engine.tuned.insert(rows);
  const drafted_for target{*max_model_len, engine.vocabulary->vocab_size(), layout};
  if (*draft) {
    auto drafting = load_draft_model(*place, **draft, options, target);
    if (!drafting) return tl::unexpected<error>(drafting.error());
    engine.draft = std::move(*drafting);
    if (engine.draft->wants_tuning()) {  // the same steps, whatever is known of the model's own
      engine.tune = true;
      engine.tuned.clear();
    }
  }
  engine_options quiet = options;
  quiet.on_phase = [](const std::string&) {};  // whoever watched the first start may be gone
  const device_plan plan{place,
                         started->options,
                         started->last_resort,
                         started->padded,
                         engine.tuned_for,
                         engine.tuning_file,
                         *draft,
                         quiet,
                         target};
  engine.open_device = [plan] { return reopen(plan); };
  if (plan.last_resort) engine.open_last_resort = [plan] { return reopen_on_cpu(plan); };
  if (place->is_isolated()) engine.process = process_of(place);
  return engine;
}

}  // namespace troupe
