#include "config/combinations.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace troupe::config {
namespace {

bool is_of_file(const std::string& origin) { return origin.find(':') != std::string::npos; }

// What begins a warning of it. A line of a file does not say by itself which option it has.
std::string named(const std::string& name, const std::string& origin) {
  return is_of_file(origin) ? origin + ": " + name : origin;
}

// The same within one.
std::string mentioned(const loaded_settings& loaded, const std::string& name) {
  const std::string origin = origin_of(loaded, name);
  return is_of_file(origin) ? name + " (" + origin + ")" : origin;
}

void warn_of_small_budget(const loaded_settings& loaded, std::vector<std::string>& out) {
  const settings& s = loaded.values;
  if (s.max_num_batched_tokens >= s.max_num_seqs) return;
  const char* const name = "max_num_batched_tokens";
  out.push_back(named(name, origin_of(loaded, name)) + ": " + std::to_string(s.max_num_batched_tokens) +
                " tokens are not enough for a step of all " + std::to_string(s.max_num_seqs) +
                " requests that may run (max_num_seqs): they take turns");
}

// For each option that somebody has set and whose name `is_meant`.
template <class IsMeant>
void warn_of_no_effect(const loaded_settings& loaded, const std::string& beside, IsMeant is_meant,
                       std::vector<std::string>& out) {
  for (const auto& [name, origin] : loaded.origins)
    if (is_meant(name)) out.push_back(named(name, origin) + ": has no effect " + beside);
}

bool is_one_of(std::span<const std::string_view> names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

// What the buckets' ranges are, once they are given in another way.
std::string in_place_of_ranges(const loaded_settings& loaded) {
  const settings& s = loaded.values;
  if (!s.bucketing_from_file.empty())
    return "beside a file of buckets (" + origin_of(loaded, "bucketing_from_file") + ")";
  if (s.bucketing_strategy == "unified" || s.bucketing_strategy == "none")
    return "with the bucketing strategy " + s.bucketing_strategy + " (" +
           origin_of(loaded, "bucketing_strategy") + ")";
  return {};
}

// Of the ranges of a linear strategy: its values are all multiples of the step.
void warn_beside_linear(const loaded_settings& loaded, std::vector<std::string>& out) {
  if (loaded.values.bucketing_strategy != "linear") return;
  warn_of_no_effect(
      loaded, "with the bucketing strategy linear (" + origin_of(loaded, "bucketing_strategy") + ")",
      [](const std::string& name) {
        const bool is_limit = name.ends_with("_bucket_limit") && !name.starts_with("decode_batch_");
        return is_limit || name == "bucket_fill";
      },
      out);
}

void warn_beside_no_warm_up(const loaded_settings& loaded, std::vector<std::string>& out) {
  const settings& s = loaded.values;
  if (s.enforce_eager)
    warn_of_no_effect(
        loaded, "beside " + mentioned(loaded, "enforce_eager"),
        [](const std::string& name) { return name == "bucket_padding"; }, out);
  if (s.enforce_eager || s.skip_warmup)
    warn_of_no_effect(
        loaded, "beside " + mentioned(loaded, s.enforce_eager ? "enforce_eager" : "skip_warmup"),
        [](const std::string& name) { return name == "warmup"; }, out);
}

// `device` is what was chosen: cuda where there is one.
void warn_without_cuda(const loaded_settings& loaded, std::vector<std::string>& out) {
  constexpr std::array<std::string_view, 5> of_cuda{"device_id", "gpu_memory_utilization", "gpu_weights",
                                                    "batch_invariant", "on_device_loss"};
  if (loaded.values.device == "cuda") return;
  warn_of_no_effect(
      loaded, "on the CPU", [&](const std::string& name) { return is_one_of(of_cuda, name); }, out);
}

// With on_device_loss=cpu those of the CPU have their effect once it takes over, but for memory_utilization.
void warn_on_cuda(const loaded_settings& loaded, std::vector<std::string>& out) {
  constexpr std::array<std::string_view, 4> of_cpu{"kernel_path", "kv_cache_memory", "threads",
                                                   "tuning_file"};
  if (loaded.values.device != "cuda") return;
  const bool may_use_cpu = loaded.values.on_device_loss == "cpu";
  warn_of_no_effect(
      loaded, "on a CUDA device",
      [&](const std::string& name) {
        return name == "memory_utilization" || (!may_use_cpu && is_one_of(of_cpu, name));
      },
      out);
}

}  // namespace

std::vector<std::string> warnings_about(const loaded_settings& loaded) {
  std::vector<std::string> out;
  warn_of_small_budget(loaded, out);
  warn_without_cuda(loaded, out);
  warn_on_cuda(loaded, out);
  if (loaded.values.memory_utilization > 0 && loaded.values.device != "cuda")
    warn_of_no_effect(
        loaded, "beside a share of the free memory (" + origin_of(loaded, "memory_utilization") + ")",
        [](const std::string& name) { return name == "kv_cache_memory"; }, out);
  warn_beside_no_warm_up(loaded, out);
  if (const std::string other = in_place_of_ranges(loaded); !other.empty()) {
    warn_of_no_effect(
        loaded, other, [](const std::string& name) { return name.find("_bucket_") != std::string::npos; },
        out);
    return out;
  }
  warn_beside_linear(loaded, out);
  if (loaded.values.counts_decode_batches_down())
    warn_of_no_effect(
        loaded, "beside decode_batch_bucket_*, which count down from max_num_seqs",
        [](const std::string& name) { return name.starts_with("decode_bs_bucket_"); }, out);
  return out;
}

}  // namespace troupe::config
