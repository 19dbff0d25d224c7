#include "actors/start/start_device.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "actors/start/device_plan.hpp"
#include "runtime/executor/warm_up/fit_buckets.hpp"
#include "runtime/executor/warm_up/graph_sizes.hpp"
#include "runtime/tokenizer/end_tokens.hpp"

namespace troupe {
namespace {

void log_kv_cache(const engine_options& options, const memory_profile& profile, const kv_layout& layout,
                  bool has_draft_model) {
  const double mebibytes = static_cast<double>(layout.num_blocks) *
                           static_cast<double>(layout.bytes_per_block) / static_cast<double>(1U << 20U);
  const bool is_share = (options.cuda ? options.cuda->memory_utilization : options.memory_utilization) > 0;
  const std::string source = options.cuda && options.cuda->memory_utilization > 0
                                 ? fmt::format("gpu_memory_utilization {}", options.cuda->memory_utilization)
                             : options.memory_utilization > 0
                                 ? fmt::format("memory_utilization {} of {} MiB", options.memory_utilization,
                                               profile.available >> 20U)
                                 : fmt::format("kv_cache_memory {} MiB", options.kv_cache_bytes >> 20U);
  spdlog::info("KV cache: {} blocks of {} tokens in {}, {} bytes per block, {:.1f} MiB in all ({}{})",
               layout.num_blocks, layout.block_size, layout.dtype, layout.bytes_per_block, mebibytes, source,
               has_draft_model && is_share ? ", shared with the draft model" : "");
}

void log_profile(const executor_limits& limits, const memory_profile& profile) {
  const auto mebibytes = [](std::size_t bytes) { return static_cast<double>(bytes) / (1U << 20U); };
  const std::string graphs =
      profile.graphs > 0 ? fmt::format(" and {:.1f} MiB of graphs", mebibytes(profile.graphs)) : "";
  spdlog::info(
      "profiling: a step of {} tokens and {} sequences takes {:.1f} MiB beside {:.1f} MiB of weights{}; {} "
      "MiB "
      "are free for the KV cache",
      limits.max_rows, limits.max_sequences, mebibytes(profile.activations), mebibytes(profile.weights),
      graphs, profile.available >> 20U);
}

// Reserves what padded steps may need; buckets that there is no room for are left out, with a warning. Rows
// and batch sizes do not depend on the number of blocks, which is not known before the device has its memory.
result<padded_limits> reserve_buckets(const engine_options& options, std::int32_t max_model_len,
                                      executor& device, std::optional<std::int64_t>& too_many_rows) {
  padded_limits holds;
  if (!options.pad_to_buckets) return holds;
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

result<void> open_draft_device_of(const model_files& files, executor_place& place,
                                  const engine_options& options, started_device& out) {
  auto opened = open_draft_device(place, *files.draft, options, files.context, {});
  if (!opened) return tl::unexpected<error>(opened.error());
  out.draft_device = std::move(*opened);
  out.draft_choices = out.draft_device->choices();
  return {};
}

// `drafting`: the draft model's device, which has none yet; null: there is none.
result<void> take_kv_cache(executor& device, const executor* drafting, const engine_options& options) {
  const auto taken = device.take_kv_cache(claim_beside(drafting));
  if (taken) return {};
  error why = taken.error();
  if (why.param == "kv_cache_memory" && options.has_default_kv_cache())
    why.message += fmt::format(" ({} MiB is the default)", options.kv_cache_bytes >> 20U);
  return tl::unexpected(std::move(why));
}

}  // namespace

engine_sizes sizes_of(const engine_options& options, std::int32_t max_model_len, std::int32_t num_blocks) {
  return {options.max_num_seqs, options.max_num_batched_tokens, options.block_size, max_model_len,
          num_blocks};
}

result<started_device> start_device(executor_place& place, const engine_options& options,
                                    const model_files& files) {
  const std::int32_t max_model_len = files.context;
  cpu_executor_options cpu = executor_options_of(options, end_tokens(*files.vocabulary));
  cpu.limits.max_model_len = max_model_len;
  started_device out;
  if (options.cuda && options.cpu_after_device_loss) {
    auto last_resort = options_on_cpu(options, files.model->config, cpu);
    if (!last_resort) return tl::unexpected<error>(last_resort.error());
    out.last_resort = std::move(*last_resort);
  }
  const std::vector<std::int32_t> graph_batches = graph_rows(options, max_model_len);
  place.set_graph_rows(graph_batches);
  auto device = load_target(place, cpu);
  if (!device) return tl::unexpected<error>(device.error());
  spdlog::info("weights {} for {}", options.cuda ? "copied" : "packed", (*device)->kernel_path());

  options.on_phase("profiling");
  if (files.draft)  // first, so that all else is measured beside it
    if (const auto opened = open_draft_device_of(files, place, options, out); !opened)
      return tl::unexpected<error>(opened.error());
  const auto padded = reserve_buckets(options, max_model_len, **device, out.too_many_rows);
  if (!padded) return tl::unexpected<error>(padded.error());
  const result<memory_profile> profile = (*device)->profile();
  if (!profile) return tl::unexpected<error>(profile.error());
  executor_limits largest = cpu.limits;
  largest.max_rows = std::max(largest.max_rows, padded->rows);
  largest.max_sequences = std::max(largest.max_sequences, padded->sequences);
  log_profile(largest, *profile);
  out.choices = (*device)->choices();
  if (const auto taken = take_kv_cache(**device, out.draft_device.get(), options); !taken)
    return tl::unexpected<error>(taken.error());
  log_kv_cache(options, *profile, (*device)->layout(), out.draft_device != nullptr);
  out.device = std::move(*device);
  out.padded = *padded;
  out.graphs = graph_sizes(graph_batches, std::min(largest.max_sequences, largest.max_rows));
  out.options = cpu;
  if (options.cuda) return out;  // its share is of the same memory again
  const kv_layout layout = out.device->layout();
  cpu.limits = largest;  // which another device has from its beginning, beside a cache that is granted
  cpu.limits.kv_cache_bytes = static_cast<std::size_t>(layout.num_blocks) * layout.bytes_per_block;
  cpu.memory_utilization = 0;
  out.options = std::move(cpu);
  return out;
}

}  // namespace troupe
