#include "metrics/catalogue.hpp"

#include <array>
#include <cstdint>
#include <limits>
#include <utility>

namespace troupe::metrics {
namespace {

using label_names = std::vector<std::string_view>;

metric_description a_counter(metric id, std::string_view name, std::string_view help,
                             label_names labels = {}) {
  return {id, name, metric_type::counter, std::move(labels), bucket_set::none, help};
}

metric_description a_gauge(metric id, std::string_view name, std::string_view help, label_names labels = {}) {
  return {id, name, metric_type::gauge, std::move(labels), bucket_set::none, help};
}

metric_description a_histogram(metric id, std::string_view name, bucket_set buckets, std::string_view help,
                               label_names labels = {}) {
  return {id, name, metric_type::histogram, std::move(labels), buckets, help};
}

std::vector<metric_description> request_metrics() {
  return {
      a_gauge(metric::requests_running, "vllm:num_requests_running", "Requests in the running batch."),
      a_gauge(metric::requests_waiting, "vllm:num_requests_waiting", "Requests waiting to be scheduled."),
      a_gauge(metric::requests_waiting_by_reason, "vllm:num_requests_waiting_by_reason",
              "Requests waiting to be scheduled, by the reason; deferred: until their grammar is compiled.",
              {"reason"}),
      a_gauge(metric::kv_cache_usage, "vllm:kv_cache_usage_perc",
              "Share of the KV cache in use; 1 is all of it."),
      a_gauge(metric::cache_config_info, "vllm:cache_config_info", "The KV cache's layout; always 1.",
              {"block_size", "num_gpu_blocks", "cache_dtype"}),
      a_counter(metric::prefix_cache_queries, "vllm:prefix_cache_queries_total",
                "Prompt tokens that were looked for in the prefix cache."),
      a_counter(metric::prefix_cache_hits, "vllm:prefix_cache_hits_total",
                "Prompt tokens that were found in the prefix cache."),
      a_counter(
          metric::preemptions, "vllm:num_preemptions_total",
          "Requests preempted because the KV cache was full, or the device had no memory for their step."),
      a_counter(metric::prompt_tokens, "vllm:prompt_tokens_total",
                "Prompt tokens processed, told with a request's first token."),
      a_counter(metric::prompt_tokens_cached, "vllm:prompt_tokens_cached_total",
                "Prompt tokens that were not computed: found in the cache, or shared by the answers to one "
                "prompt."),
      a_counter(metric::generation_tokens, "vllm:generation_tokens_total",
                "Tokens generated for clients: without those behind a stop string, which nobody gets."),
      a_counter(metric::request_success, "vllm:request_success_total", "Requests ended, by the reason.",
                {"finished_reason"}),
      a_counter(
          metric::request_errors, "troupe_request_errors_total",
          "Requests refused or ended by an error, by its HTTP status; 500 and 503 are the service's fault.",
          {"code"}),
      a_histogram(metric::step_tokens, "vllm:iteration_tokens_total", bucket_set::step_tokens,
                  "Tokens of one engine step."),
      a_histogram(metric::time_to_first_token, "vllm:time_to_first_token_seconds", bucket_set::first_token,
                  "From a request's arrival to its first token."),
      a_histogram(metric::inter_token_latency, "vllm:inter_token_latency_seconds", bucket_set::inter_token,
                  "From one token of a request to its next."),
      a_histogram(metric::time_per_output_token, "vllm:request_time_per_output_token_seconds",
                  bucket_set::inter_token, "A request's mean time per token after its first."),
      a_histogram(metric::request_latency, "vllm:e2e_request_latency_seconds", bucket_set::request_latency,
                  "From a request's arrival to its end."),
      a_histogram(metric::queue_time, "vllm:request_queue_time_seconds", bucket_set::request_latency,
                  "From a request's arrival to its first step."),
      a_histogram(metric::inference_time, "vllm:request_inference_time_seconds", bucket_set::request_latency,
                  "From a request's first step to its last token."),
      a_histogram(metric::prefill_time, "vllm:request_prefill_time_seconds", bucket_set::request_latency,
                  "From a request's first step to its first token."),
      a_histogram(metric::decode_time, "vllm:request_decode_time_seconds", bucket_set::request_latency,
                  "From a request's first token to its last."),
      a_histogram(metric::request_prompt_tokens, "vllm:request_prompt_tokens", bucket_set::token_counts,
                  "Prompt tokens of a request."),
      a_histogram(metric::request_generation_tokens, "vllm:request_generation_tokens",
                  bucket_set::token_counts, "Tokens generated for a request."),
      a_histogram(metric::request_max_generation_tokens, "vllm:request_max_num_generation_tokens",
                  bucket_set::token_counts, "Tokens of the longest answer to a request."),
      a_histogram(metric::request_max_tokens, "vllm:request_params_max_tokens", bucket_set::token_counts,
                  "The max_tokens parameter of a request."),
      a_histogram(metric::request_choices, "vllm:request_params_n", bucket_set::choices,
                  "The n parameter of a request."),
  };
}

std::vector<metric_description> step_metrics() {
  return {
      a_histogram(metric::step_time, "troupe_step_seconds", bucket_set::step_time,
                  "Time of one engine step, by phase.", {"phase"}),
      a_gauge(
          metric::last_step_age, "troupe_last_step_age_seconds",
          "How long requests that could run have been waiting for a step to end; 0 where there are none."),
      a_counter(metric::bucket_executions, "troupe_bucket_executions_total",
                "Steps, or parts of steps, by the bucket they ran in.", {"bucket"}),
      a_counter(metric::bucket_padding_tokens, "troupe_bucket_padding_tokens_total",
                "Rows computed only to fill a bucket."),
      a_counter(metric::bucket_fallbacks, "troupe_bucket_fallbacks_total",
                "Steps, or parts of steps, beyond every bucket: they ran as they were."),
  };
}

std::vector<metric_description> grammar_metrics() {
  return {
      a_histogram(metric::grammar_compile_time, "troupe_grammar_compile_seconds", bucket_set::step_time,
                  "Time to compile a grammar, or to refuse it."),
      a_histogram(metric::grammar_mask_time, "troupe_grammar_mask_seconds", bucket_set::step_time,
                  "Time to fill the mask of one request for one step."),
      a_counter(metric::grammar_cache_queries, "troupe_grammar_cache_queries_total",
                "Requests with a grammar."),
      a_counter(metric::grammar_cache_hits, "troupe_grammar_cache_hits_total",
                "Requests whose grammar was compiled, or known to be refused, when they came."),
      a_gauge(metric::grammar_cache_bytes, "troupe_grammar_cache_bytes",
              "Memory of the compiled grammars that are kept."),
      a_counter(metric::grammars_refused, "troupe_grammars_refused_total",
                "Grammars that could not be compiled, or not within the limits."),
      a_counter(metric::grammar_masks_refused, "troupe_grammar_masks_refused_total",
                "Masks that would have passed a limit: their requests end there."),
      a_counter(metric::grammar_forced_tokens, "troupe_grammar_forced_tokens_total",
                "Tokens that took no step of their own, since a grammar left no choice about them."),
      a_counter(
          metric::grammar_refused_draft_tokens, "troupe_grammar_refused_draft_tokens_total",
          "Drafted tokens that no step verified: a grammar, or a token sampled meanwhile, rules them out "
          "or one "
          "before them."),
      a_counter(metric::grammar_withheld_rows, "troupe_grammar_withheld_rows_total",
                "Rows that are computed again, since their masks took more work than others in their steps "
                "wait for."),
  };
}

std::vector<metric_description> draft_metrics() {
  return {
      a_counter(metric::drafts, "vllm:spec_decode_num_drafts_total",
                "Drafts verified: of one sequence in one step each."),
      a_counter(metric::draft_tokens, "vllm:spec_decode_num_draft_tokens_total",
                "Tokens of the drafts verified."),
      a_counter(metric::accepted_draft_tokens, "vllm:spec_decode_num_accepted_tokens_total",
                "Draft tokens that were right."),
      a_counter(metric::accepted_draft_tokens_by_position,
                "vllm:spec_decode_num_accepted_tokens_per_pos_total",
                "Draft tokens that were right, by their places in their drafts, from 0.", {"position"}),
      a_counter(metric::draft_tokens_by_position, "troupe_draft_tokens_per_pos_total",
                "Tokens of the drafts verified, by their places in their drafts, from 0.", {"position"}),
      a_counter(metric::rejection_sampled_tokens, "troupe_rejection_sampled_draft_tokens_total",
                "Tokens of the drafts verified that were drawn to be accepted or rejected by chance."),
      a_counter(metric::rejection_sampled_accepted, "troupe_rejection_sampled_accepted_tokens_total",
                "Those of them that were accepted."),
      a_gauge(metric::drafter_bytes, "troupe_drafter_bytes",
              "Memory of the tokens that drafts are guessed from."),
      a_counter(metric::drafter_forgotten_requests, "troupe_drafter_forgotten_requests_total",
                "Requests that were drafted for no more, for want of that memory."),
  };
}

std::vector<metric_description> service_metrics() {
  return {
      a_counter(metric::exported_spans, "troupe_trace_spans_exported_total",
                "Spans that the collector of traces has taken."),
      a_counter(
          metric::dropped_spans, "troupe_trace_spans_dropped_total",
          "Spans that were lost: too many were waiting, the collector refused them, or it gave no answer in "
          "time.",
          {"reason"}),
      a_gauge(metric::warmup_progress, "troupe_warmup_progress",
              "Share of the warm-up that is done; 1 is all of it."),
      a_gauge(metric::live, "troupe_live", "1 where /livez is 200, else 0."),
      a_gauge(metric::ready, "troupe_ready", "1 where /readyz is 200, else 0."),
      a_gauge(metric::degraded, "troupe_degraded",
              "1 where the model runs on the CPU since its CUDA device was lost, else 0. The labels of "
              "troupe_info "
              "and of the KV cache's configuration are then still those of the start."),
      a_gauge(
          metric::last_reload_refused, "troupe_last_reload_refused",
          "1 where the last reload of the settings was refused, so that others are in force than are written "
          "down, else 0."),
      a_gauge(metric::actors, "troupe_actors",
              "Actors that run in this process; the same before and after any load."),
      a_gauge(metric::actor_mailbox_size, "troupe_actor_mailbox_size",
              "Messages behind the one that an actor handles, 0 while it handles none; of all actors of that "
              "name.",
              {"actor"}),
      a_counter(metric::actor_restarts, "troupe_actor_restarts_total",
                "How often an actor of that name was restarted.", {"actor"}),
      a_histogram(metric::actor_message_time, "troupe_actor_message_seconds", bucket_set::message_time,
                  "Time that an actor takes to handle a message.", {"actor", "message"}),
      a_counter(metric::runner_cpu, "troupe_runner_cpu_seconds_total",
                "CPU time that the runner's processes have used, user and system, in seconds; 0 where it has "
                "none of "
                "its own."),
      a_gauge(metric::runner_resident_memory, "troupe_runner_resident_memory_bytes",
              "Memory of the runner's process that is in RAM, weights and KV cache among it; 0 where it has "
              "none of "
              "its own."),
  };
}

std::vector<metric_description> device_metrics() {
  return {
      a_gauge(metric::gpu_memory_used, "troupe_gpu_memory_used_bytes",
              "Memory of the GPU that is taken, by whomever; 0 where the model runs on the CPU."),
      a_gauge(metric::gpu_memory_free, "troupe_gpu_memory_free_bytes",
              "Memory of the GPU that nobody has; 0 where the model runs on the CPU."),
      a_gauge(metric::gpu_memory_total, "troupe_gpu_memory_total_bytes",
              "Memory of the GPU; 0 where the model runs on the CPU."),
      a_gauge(metric::gpu_graphs, "troupe_gpu_graphs",
              "Decode steps of a size that are captured as CUDA graphs."),
      a_counter(
          metric::gpu_eager_steps, "troupe_gpu_eager_steps_total",
          "Steps that the GPU ran launch by launch, the warm-up's among them: graphs are for decodes alone."),
      a_counter(metric::gpu_eager_decodes, "troupe_gpu_eager_decode_steps_total",
                "Of these those with one row of each sequence, which no CUDA graph was there for."),
      a_gauge(metric::gpu_power, "troupe_gpu_power_watts",
              "Power that the GPU draws; 0 where nobody says (NVML)."),
      a_gauge(metric::gpu_temperature, "troupe_gpu_temperature_celsius",
              "Temperature of the GPU; 0 where nobody says (NVML)."),
  };
}

std::vector<metric_description> process_metrics() {
  return {
      a_counter(metric::process_cpu, "process_cpu_seconds_total",
                "CPU time that the process has used, user and system, in seconds."),
      a_gauge(metric::process_resident_memory, "process_resident_memory_bytes",
              "Memory of the process that is in RAM."),
      a_gauge(metric::process_virtual_memory, "process_virtual_memory_bytes",
              "Address space of the process."),
      a_gauge(metric::process_open_descriptors, "process_open_fds", "Open file descriptors."),
      a_gauge(metric::process_max_descriptors, "process_max_fds", "File descriptors that may be open."),
      a_gauge(metric::process_start, "process_start_time_seconds",
              "When the process started, in seconds since 1970."),
      a_gauge(metric::info, "troupe_info", "The program and what it runs on; always 1.",
              {"version", "cpu", "kernel_path", "threads"}),
  };
}

std::vector<metric_description> make_catalogue() {
  std::vector<metric_description> all;
  for (const auto& group : {request_metrics, step_metrics, grammar_metrics, draft_metrics, service_metrics,
                            device_metrics, process_metrics})
    for (metric_description& each : group()) all.push_back(std::move(each));
  return all;
}

// 1, 2, 5, 10, 20, 50, ... up to `last`.
std::vector<double> one_two_five(std::int64_t last) {
  std::vector<double> bounds;
  for (std::int64_t power = 1; power <= last; power *= 10) {
    for (const std::int64_t factor : {1, 2, 5}) {
      if (power * factor <= last) bounds.push_back(static_cast<double>(power * factor));
    }
  }
  return bounds;
}

constexpr std::array<std::string_view, 5> reasons{"stop", "length", "abort", "timeout", "error"};
constexpr std::array<std::string_view, 7> codes{"400", "401", "404", "413", "429", "500", "503"};
constexpr std::array<std::string_view, 2> waits{"capacity", "deferred"};
constexpr std::array<std::string_view, 3> losses{"queue_full", "rejected", "unreachable"};
constexpr std::array<std::string_view, 6> phases{"plan", "reserve", "draft", "mask", "execute", "commit"};

}  // namespace

std::span<const metric_description> catalogue() {
  static const std::vector<metric_description> all = make_catalogue();
  return all;
}

bool is_of_process(metric id) { return id >= metric::process_cpu && id <= metric::process_start; }

bool is_of_actors(metric id) { return id >= metric::actor_mailbox_size && id <= metric::actor_message_time; }

const metric_description& describe(metric id) { return catalogue()[static_cast<std::size_t>(id)]; }

std::vector<double> bucket_bounds(bucket_set buckets) {
  switch (buckets) {
    case bucket_set::none:
      return {};
    case bucket_set::first_token:
      return {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
              1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
    case bucket_set::inter_token:
      return {0.0005, 0.001, 0.002, 0.003, 0.005, 0.0075, 0.01, 0.015, 0.025, 0.035, 0.05, 0.075, 0.1, 0.15,
              0.2,    0.3,   0.4,   0.5,   0.75,  1.0,    2.5,  5.0,   7.5,   10.0,  20.0, 40.0,  80.0};
    case bucket_set::request_latency:
      return {0.001, 0.003, 0.01, 0.03, 0.1,  0.2,  0.3,  0.5,   0.8,   1.0,   1.5,   2.0,    2.5,   5.0,
              10.0,  15.0,  20.0, 30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
    case bucket_set::token_counts:
      return one_two_five(std::numeric_limits<std::int32_t>::max());
    case bucket_set::step_tokens:
      return {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
    case bucket_set::step_time:
      return {1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3, 2e-3, 5e-3,
              1e-2, 2e-2, 5e-2, 0.1,  0.2,  0.5,  1.0,  5.0,  10.0, 30.0, 60.0, 120.0};
    case bucket_set::message_time:
      return {1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 1.0, 10.0};
    case bucket_set::choices:
      return {1, 2, 5, 10, 20};
  }
  return {};
}

std::span<const std::string_view> finished_reasons() { return reasons; }
std::span<const std::string_view> error_statuses() { return codes; }
std::span<const std::string_view> waiting_reasons() { return waits; }
std::span<const std::string_view> step_phases() { return phases; }
std::span<const std::string_view> span_losses() { return losses; }

}  // namespace troupe::metrics
