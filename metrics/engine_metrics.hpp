// The engine's metrics as small typed calls. Every call is safe from any thread. What is called once a step
// or more often takes no lock that text() takes, too.
#pragma once
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "metrics/actor_meter.hpp"
#include "metrics/actor_pulse.hpp"
#include "metrics/catalogue.hpp"

namespace troupe::metrics {

using seconds = double;
inline seconds in_seconds(std::chrono::nanoseconds duration) {
  return std::chrono::duration<double>(duration).count();
}

struct metrics_options {
  std::string model_name;
  std::string engine = "0";
  std::int32_t num_speculative_tokens = 0;  // the places that accepted drafts are counted by
  std::string nvml_library = "libnvidia-ml.so.1";
};

struct cache_config {
  std::int64_t block_size = 0;
  std::int64_t num_blocks = 0;
  std::string dtype;  // "bf16", "f32", ...
};

struct runner_process_info {
  std::int32_t id = 0;           // 0: this process, or none at the moment
  double ended_cpu_seconds = 0;  // what those before it have used
};

// Steps of an executor that were no graphs, counted from when it was opened.
struct eager_counts {
  std::uint64_t steps = 0;
  std::uint64_t decodes = 0;  // of these, the ones with one row of each sequence
};

// The GPU that the model runs on, as the runner sees it.
struct gpu_info {
  std::string bus_id;              // "0000:65:00.0"; empty: there is none
  std::uint64_t memory_total = 0;  // bytes
  std::uint64_t memory_free = 0;
  std::int64_t graphs = 0;
  eager_counts model = {};
  eager_counts draft_model = {};
};

struct program_info {
  std::string version;
  std::string cpu;
  std::string kernel_path;
  std::int64_t threads = 0;
};

// One answer to a request, ended. Times are measured from its arrival; what never happened is absent.
struct request_record {
  std::string_view finished_reason;  // one of finished_reasons(); anything else counts as "error"
  std::int64_t prompt_tokens = 0;
  std::int64_t generation_tokens = 0;
  std::optional<std::int64_t> max_tokens;  // as asked for
  std::optional<seconds> scheduled;        // its first step began
  std::optional<seconds> first_token;
  std::optional<seconds> last_token;
  seconds ended = 0;
};

// A request, all of whose answers have ended.
struct choices_record {
  std::int64_t count = 1;                   // the parameter n
  std::int64_t most_generation_tokens = 0;  // of the longest answer
};

class engine_metrics {
 public:
  explicit engine_metrics(const metrics_options& options);
  ~engine_metrics();
  engine_metrics(const engine_metrics&) = delete;
  engine_metrics& operator=(const engine_metrics&) = delete;

  // Ends the buckets that count tokens, in what text() says from here on. Until then they go on and on.
  void set_max_model_len(std::int64_t tokens);
  // Once known; a later call replaces what was said before.
  void set_cache_config(const cache_config& config);
  // The process that the runner works in, from here on.
  void set_runner_process(const runner_process_info& process);
  // Replaces what was said before; text() adds what NVML says of this device.
  void set_gpu(const gpu_info& gpu);
  void set_info(const program_info& info);
  void set_kernel_path(const std::string& path);  // of that alone, where another device takes over
  void set_warmup_progress(double share);
  void set_actors(std::size_t count);
  // What the health routes say.
  void set_health(bool live, bool ready);
  // Whether the last reload was taken; true until there is one.
  void set_last_reload(bool taken);
  // From now on the CPU does the work of a device that is lost.
  void set_degraded();
  // By the name of its kind, the same for a pool's members: "tokenizer". Zero from the first call on.
  actor_meter& actor(const std::string& name);
  // One actor's signs of life, by its number, for as long as somebody else owns them; null: there are none.
  void add_pulse(std::uint64_t actor, const std::shared_ptr<actor_pulse>& pulse);
  std::shared_ptr<actor_pulse> pulse(std::uint64_t actor) const;

  // `deferred`: of the waiting ones, those that could not run though there were room.
  // Begins last_step_age where there are others and there were none.
  void set_requests(std::int64_t running, std::int64_t waiting, std::int64_t deferred = 0);
  void set_kv_cache_usage(double share);
  // In tokens.
  void add_prefix_cache(std::uint64_t queries, std::uint64_t hits);
  void add_prompt_tokens_cached(std::uint64_t count);
  void add_prompt_tokens(std::uint64_t count);
  void add_generation_tokens(std::uint64_t count);
  void add_preemptions(std::uint64_t count);
  // Those that steps may run in, so that they are there at zero.
  void add_buckets(const std::vector<std::string>& buckets);
  void count_bucket_execution(const std::string& bucket);
  void add_bucket_padding(std::uint64_t tokens);
  void add_bucket_fallbacks(std::uint64_t count);
  void observe_grammar_compile(seconds duration);
  void observe_grammar_mask(seconds duration);
  void add_grammar_cache(std::uint64_t queries, std::uint64_t hits);
  void set_grammar_cache_bytes(std::int64_t bytes);
  void add_grammars_refused(std::uint64_t count);
  void add_grammar_masks_refused(std::uint64_t count);
  void add_grammar_forced_tokens(std::uint64_t count);
  void add_grammar_withheld_rows(std::uint64_t count);
  void add_grammar_refused_draft_tokens(std::uint64_t count);
  void add_drafts(std::uint64_t drafts, std::uint64_t tokens, std::uint64_t accepted);
  // What the drafter remembers, and requests that it has given up since the last call.
  void set_drafter_memory(std::size_t bytes, std::uint64_t forgotten_requests);
  // Those of drafts that are accepted or rejected by chance: they are among the former.
  void add_rejection_sampled(std::uint64_t tokens, std::uint64_t accepted);
  // Of the same tokens, those at this place of their drafts.
  void add_draft_tokens(std::size_t position, std::uint64_t verified, std::uint64_t accepted);
  void observe_step_tokens(std::int64_t count);
  // A step has ended, well or not: last_step_age begins anew.
  void step_ended();
  void observe_step(step_phase phase, seconds duration);

  void observe_first_token(seconds since_arrival);
  void observe_inter_token(seconds since_previous);
  // Counts the end and observes every histogram of single answers.
  void observe_request(const request_record& record);
  void observe_choices(const choices_record& record);
  // The HTTP status of a refusal or a failure; one that is not among error_statuses() counts as 400 where it
  // is the client's (505 too: a version of HTTP that is not served), else as 500.
  void add_request_error(int status);
  void add_exported_spans(std::uint64_t count);
  void add_dropped_spans(span_loss why, std::uint64_t count);

  // All of them in Prometheus' text format, version 0.0.4.
  std::string text() const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe::metrics
