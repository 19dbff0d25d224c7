// Every metric's name, type, labels, buckets and help in one place. Names and labels of vllm:* are vLLM's
// (vllm/v1/metrics/loggers.py), so that its dashboards work unchanged, and so are the buckets, with finer
// ones below them; process_* are what every Prometheus client library exports; the rest is under troupe_.
#pragma once
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace troupe::metrics {

enum class metric_type { counter, gauge, histogram };

// Which bucket boundaries a histogram has.
enum class bucket_set {
  none,
  first_token,
  inter_token,
  request_latency,
  token_counts,
  step_tokens,
  step_time,
  message_time,
  choices
};

enum class metric : std::uint8_t {
  requests_running,
  requests_waiting,
  requests_waiting_by_reason,
  kv_cache_usage,
  cache_config_info,
  prefix_cache_queries,
  prefix_cache_hits,
  preemptions,
  prompt_tokens,
  prompt_tokens_cached,
  generation_tokens,
  request_success,
  request_errors,
  step_tokens,
  time_to_first_token,
  inter_token_latency,
  time_per_output_token,
  request_latency,
  queue_time,
  inference_time,
  prefill_time,
  decode_time,
  request_prompt_tokens,
  request_generation_tokens,
  request_max_generation_tokens,
  request_max_tokens,
  request_choices,
  step_time,
  last_step_age,
  bucket_executions,
  bucket_padding_tokens,
  bucket_fallbacks,
  grammar_compile_time,
  grammar_mask_time,
  grammar_cache_queries,
  grammar_cache_hits,
  grammar_cache_bytes,
  grammars_refused,
  grammar_masks_refused,
  grammar_forced_tokens,
  grammar_refused_draft_tokens,
  grammar_withheld_rows,
  drafts,
  draft_tokens,
  accepted_draft_tokens,
  accepted_draft_tokens_by_position,
  draft_tokens_by_position,
  rejection_sampled_tokens,
  rejection_sampled_accepted,
  drafter_bytes,
  drafter_forgotten_requests,
  exported_spans,
  dropped_spans,
  warmup_progress,
  live,
  ready,
  degraded,
  last_reload_refused,
  actors,
  actor_mailbox_size,
  actor_restarts,
  actor_message_time,
  runner_cpu,
  runner_resident_memory,
  gpu_memory_used,
  gpu_memory_free,
  gpu_memory_total,
  gpu_graphs,
  gpu_eager_steps,
  gpu_eager_decodes,
  gpu_power,
  gpu_temperature,
  process_cpu,
  process_resident_memory,
  process_virtual_memory,
  process_open_descriptors,
  process_max_descriptors,
  process_start,
  info,
};

// True for process_*: they are the process's and bear no label.
bool is_of_process(metric id);
// True for what is told of each kind of actor.
bool is_of_actors(metric id);

struct metric_description {
  metric id;
  std::string_view name;  // as exposed, "_total" included
  metric_type type;
  std::vector<std::string_view> labels;  // besides model_name and engine, which all but process_* have
  bucket_set buckets;
  std::string_view help;
};

// In the order of the enumeration.
std::span<const metric_description> catalogue();
const metric_description& describe(metric id);

// Upper bounds, ascending; the ones that count tokens, 1, 2, 5, 10, 20, 50, ..., go beyond every model's
// length.
std::vector<double> bucket_bounds(bucket_set buckets);

// The values of request_success's label finished_reason.
std::span<const std::string_view> finished_reasons();
// The values of request_errors' label code.
std::span<const std::string_view> error_statuses();
// The values of requests_waiting_by_reason's label reason: for their turn, for something of their own.
std::span<const std::string_view> waiting_reasons();
// The values of dropped_spans' label reason.
enum class span_loss : std::uint8_t { queue_full, rejected, unreachable };
std::span<const std::string_view> span_losses();
// The values of step_time's label phase.
enum class step_phase : std::uint8_t { plan, reserve, draft, mask, execute, commit };
std::span<const std::string_view> step_phases();

}  // namespace troupe::metrics
