#include "metrics/catalogue.hpp"

#include <array>

namespace troupe::metrics {
namespace {

using enum metric_type;

std::vector<metric_description> make_catalogue() {
  return {
      {metric::requests_running,
       "vllm:num_requests_running",
       gauge,
       {},
       bucket_set::none,
       "Requests in the running batch."},
      {metric::requests_waiting,
       "vllm:num_requests_waiting",
       gauge,
       {},
       bucket_set::none,
       "Requests waiting to be scheduled."},
      {metric::requests_waiting_by_reason,
       "vllm:num_requests_waiting_by_reason",
       gauge,
       {"reason"},
       bucket_set::none,
       "Requests waiting to be scheduled, by the reason; deferred: until their grammar is compiled."},
      {metric::kv_cache_usage,
       "vllm:kv_cache_usage_perc",
       gauge,
       {},
       bucket_set::none,
       "Share of the KV cache in use; 1 is all of it."},
      {metric::cache_config_info,
       "vllm:cache_config_info",
       gauge,
       {"block_size", "num_gpu_blocks", "cache_dtype"},
       bucket_set::none,
       "The KV cache's layout; always 1."},
      {metric::prefix_cache_queries,
       "vllm:prefix_cache_queries_total",
       counter,
       {},
       bucket_set::none,
       "Prompt tokens that were looked for in the prefix cache."},
      {metric::prefix_cache_hits,
       "vllm:prefix_cache_hits_total",
       counter,
       {},
       bucket_set::none,
       "Prompt tokens that were found in the prefix cache."},
      {metric::preemptions,
       "vllm:num_preemptions_total",
       counter,
       {},
       bucket_set::none,
       "Requests preempted because the KV cache was full."},
      {metric::prompt_tokens,
       "vllm:prompt_tokens_total",
       counter,
       {},
       bucket_set::none,
       "Prompt tokens processed."},
      {metric::prompt_tokens_cached,
       "vllm:prompt_tokens_cached_total",
       counter,
       {},
       bucket_set::none,
       "Prompt tokens that were not computed: found in the cache, or shared by the answers to one prompt."},
      {metric::generation_tokens,
       "vllm:generation_tokens_total",
       counter,
       {},
       bucket_set::none,
       "Tokens generated."},
      {metric::request_success,
       "vllm:request_success_total",
       counter,
       {"finished_reason"},
       bucket_set::none,
       "Requests ended, by the reason."},
      {metric::step_tokens,
       "vllm:iteration_tokens_total",
       histogram,
       {},
       bucket_set::step_tokens,
       "Tokens of one engine step."},
      {metric::time_to_first_token,
       "vllm:time_to_first_token_seconds",
       histogram,
       {},
       bucket_set::first_token,
       "From a request's arrival to its first token."},
      {metric::inter_token_latency,
       "vllm:inter_token_latency_seconds",
       histogram,
       {},
       bucket_set::inter_token,
       "From one token of a request to its next."},
      {metric::time_per_output_token,
       "vllm:request_time_per_output_token_seconds",
       histogram,
       {},
       bucket_set::inter_token,
       "A request's mean time per token after its first."},
      {metric::request_latency,
       "vllm:e2e_request_latency_seconds",
       histogram,
       {},
       bucket_set::request_latency,
       "From a request's arrival to its end."},
      {metric::queue_time,
       "vllm:request_queue_time_seconds",
       histogram,
       {},
       bucket_set::request_latency,
       "From a request's arrival to its first step."},
      {metric::inference_time,
       "vllm:request_inference_time_seconds",
       histogram,
       {},
       bucket_set::request_latency,
       "From a request's first step to its last token."},
      {metric::prefill_time,
       "vllm:request_prefill_time_seconds",
       histogram,
       {},
       bucket_set::request_latency,
       "From a request's first step to its first token."},
      {metric::decode_time,
       "vllm:request_decode_time_seconds",
       histogram,
       {},
       bucket_set::request_latency,
       "From a request's first token to its last."},
      {metric::request_prompt_tokens,
       "vllm:request_prompt_tokens",
       histogram,
       {},
       bucket_set::token_counts,
       "Prompt tokens of a request."},
      {metric::request_generation_tokens,
       "vllm:request_generation_tokens",
       histogram,
       {},
       bucket_set::token_counts,
       "Tokens generated for a request."},
      {metric::request_max_tokens,
       "vllm:request_params_max_tokens",
       histogram,
       {},
       bucket_set::token_counts,
       "The max_tokens parameter of a request."},
      {metric::step_time,
       "troupe_step_seconds",
       histogram,
       {"phase"},
       bucket_set::step_time,
       "Time of one engine step, by phase."},
      {metric::bucket_executions,
       "troupe_bucket_executions_total",
       counter,
       {"bucket"},
       bucket_set::none,
       "Steps, or parts of steps, by the bucket they ran in."},
      {metric::bucket_padding_tokens,
       "troupe_bucket_padding_tokens_total",
       counter,
       {},
       bucket_set::none,
       "Rows computed only to fill a bucket."},
      {metric::bucket_fallbacks,
       "troupe_bucket_fallbacks_total",
       counter,
       {},
       bucket_set::none,
       "Steps, or parts of steps, beyond every bucket: they ran as they were."},
      {metric::grammar_compile_time,
       "troupe_grammar_compile_seconds",
       histogram,
       {},
       bucket_set::step_time,
       "Time to compile a grammar, or to refuse it."},
      {metric::grammar_mask_time,
       "troupe_grammar_mask_seconds",
       histogram,
       {},
       bucket_set::step_time,
       "Time to fill the mask of one request for one step."},
      {metric::grammar_cache_queries,
       "troupe_grammar_cache_queries_total",
       counter,
       {},
       bucket_set::none,
       "Requests with a grammar."},
      {metric::grammar_cache_hits,
       "troupe_grammar_cache_hits_total",
       counter,
       {},
       bucket_set::none,
       "Requests whose grammar was compiled, or known to be refused, when they came."},
      {metric::grammar_cache_bytes,
       "troupe_grammar_cache_bytes",
       gauge,
       {},
       bucket_set::none,
       "Memory of the compiled grammars that are kept."},
      {metric::grammars_refused,
       "troupe_grammars_refused_total",
       counter,
       {},
       bucket_set::none,
       "Grammars that could not be compiled, or not within the limits."},
      {metric::warmup_progress,
       "troupe_warmup_progress",
       gauge,
       {},
       bucket_set::none,
       "Share of the warm-up that is done; 1 is all of it."},
      {metric::actors,
       "troupe_actors",
       gauge,
       {},
       bucket_set::none,
       "Actors that run in this process; the same before and after any load."},
      {metric::process_cpu,
       "process_cpu_seconds_total",
       counter,
       {},
       bucket_set::none,
       "CPU time that the process has used, user and system, in seconds."},
      {metric::process_resident_memory,
       "process_resident_memory_bytes",
       gauge,
       {},
       bucket_set::none,
       "Memory of the process that is in RAM."},
      {metric::process_virtual_memory,
       "process_virtual_memory_bytes",
       gauge,
       {},
       bucket_set::none,
       "Address space of the process."},
      {metric::process_open_descriptors,
       "process_open_fds",
       gauge,
       {},
       bucket_set::none,
       "Open file descriptors."},
      {metric::process_max_descriptors,
       "process_max_fds",
       gauge,
       {},
       bucket_set::none,
       "File descriptors that may be open."},
      {metric::process_start,
       "process_start_time_seconds",
       gauge,
       {},
       bucket_set::none,
       "When the process started, in seconds since 1970."},
      {metric::info,
       "troupe_info",
       gauge,
       {"version", "cpu", "kernel_path", "threads"},
       bucket_set::none,
       "The program and what it runs on; always 1."},
  };
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
constexpr std::array<std::string_view, 2> waits{"capacity", "deferred"};
constexpr std::array<std::string_view, 5> phases{"plan", "reserve", "mask", "execute", "commit"};

}  // namespace

std::span<const metric_description> catalogue() {
  static const std::vector<metric_description> all = make_catalogue();
  return all;
}

bool is_of_process(metric id) { return id >= metric::process_cpu && id <= metric::process_start; }

const metric_description& describe(metric id) { return catalogue()[static_cast<std::size_t>(id)]; }

std::vector<double> bucket_bounds(bucket_set buckets, std::int64_t max_model_len) {
  switch (buckets) {
    case bucket_set::none:
      return {};
    case bucket_set::first_token:
      return {0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1,  0.25,  0.5,   0.75,
              1.0,   2.5,   5.0,  7.5,  10.0, 20.0, 40.0, 80.0, 160.0, 640.0, 2560.0};
    case bucket_set::inter_token:
      return {0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2,  0.3,  0.4, 0.5,
              0.75, 1.0,   2.5,  5.0,   7.5, 10.0, 20.0, 40.0, 80.0};
    case bucket_set::request_latency:
      return {0.3,  0.5,  0.8,  1.0,  1.5,   2.0,   2.5,   5.0,   10.0,   15.0,  20.0,
              30.0, 40.0, 50.0, 60.0, 120.0, 240.0, 480.0, 960.0, 1920.0, 7680.0};
    case bucket_set::token_counts:
      return one_two_five(max_model_len);
    case bucket_set::step_tokens:
      return {1, 8, 16, 32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384};
    case bucket_set::step_time:
      return {1e-6, 2e-6, 5e-6, 1e-5, 2e-5, 5e-5, 1e-4, 2e-4, 5e-4, 1e-3,
              2e-3, 5e-3, 1e-2, 2e-2, 5e-2, 0.1,  0.2,  0.5,  1.0,  5.0};
  }
  return {};
}

std::span<const std::string_view> finished_reasons() { return reasons; }
std::span<const std::string_view> waiting_reasons() { return waits; }
std::span<const std::string_view> step_phases() { return phases; }

}  // namespace troupe::metrics
