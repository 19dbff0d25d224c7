#include "metrics/engine_metrics.hpp"

#include <prometheus/counter.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>

#include <algorithm>
#include <array>
#include <map>
#include <mutex>
#include <vector>

#include "metrics/process_usage.hpp"

namespace troupe::metrics {
namespace {

constexpr std::size_t metric_count = static_cast<std::size_t>(metric::info) + 1;

template <class Metric>
using table = std::array<Metric*, metric_count>;

template <class Metric>
Metric& entry(const table<Metric>& all, metric id) {
  return *all[static_cast<std::size_t>(id)];
}

prometheus::Labels base_labels(const metrics_options& options) {
  return {{"model_name", options.model_name}, {"engine", options.engine}};
}

template <class Builder>
auto& add_family(Builder builder, metric id, prometheus::Registry& registry, prometheus::Labels labels) {
  const metric_description& what = describe(id);
  if (is_of_process(id)) labels.clear();
  return builder.Name(std::string(what.name)).Help(std::string(what.help)).Labels(labels).Register(registry);
}

}  // namespace

struct engine_metrics::state {
  explicit state(const metrics_options& options);

  void add(const metric_description& what);
  // Replaces the one sample of an information metric.
  void set_information(metric id, const prometheus::Labels& labels);

  void set(metric id, double value) { entry(gauges, id).Set(value); }
  void increment(metric id, std::uint64_t count) {
    entry(counters, id).Increment(static_cast<double>(count));
  }
  void observe(metric id, double value) { entry(histograms, id).Observe(value); }
  // Asks the system; where it does not say the old values stay.
  void update_process();

  metrics_options options;
  prometheus::Labels labels;
  prometheus::Registry registry;
  table<prometheus::Gauge> gauges{};
  table<prometheus::Counter> counters{};
  table<prometheus::Histogram> histograms{};
  std::vector<prometheus::Counter*> success;           // [finished_reasons()]
  std::vector<prometheus::Counter*> accepted_at;       // [num_speculative_tokens]
  std::vector<prometheus::Histogram*> step_durations;  // [step_phases()]
  std::vector<prometheus::Gauge*> waiting;             // [waiting_reasons()]

  prometheus::Family<prometheus::Counter>* executions = nullptr;  // one counter per bucket seen
  std::mutex process_mutex;
  std::mutex information_mutex;
  std::map<metric, prometheus::Family<prometheus::Gauge>*> information;
  std::map<metric, prometheus::Gauge*> information_samples;
};

engine_metrics::state::state(const metrics_options& given) : options(given), labels(base_labels(given)) {
  for (const metric_description& what : catalogue()) add(what);
}

void engine_metrics::state::add(const metric_description& what) {
  const auto index = static_cast<std::size_t>(what.id);
  const auto bounds = bucket_bounds(what.buckets, options.max_model_len);
  switch (what.type) {
    case metric_type::gauge: {
      auto& family = add_family(prometheus::BuildGauge(), what.id, registry, labels);
      if (what.id == metric::requests_waiting_by_reason) {
        for (const std::string_view reason : waiting_reasons())
          waiting.push_back(&family.Add({{std::string(what.labels.front()), std::string(reason)}}));
      } else if (what.labels.empty()) {
        gauges[index] = &family.Add({});
      } else {
        information[what.id] = &family;
      }
      return;
    }
    case metric_type::counter: {
      auto& family = add_family(prometheus::BuildCounter(), what.id, registry, labels);
      if (what.id == metric::bucket_executions) {
        executions = &family;
        return;
      }
      if (what.id == metric::accepted_draft_tokens_by_position) {
        for (std::int32_t position = 0; position < options.num_speculative_tokens; ++position)
          accepted_at.push_back(&family.Add({{std::string(what.labels.front()), std::to_string(position)}}));
        return;
      }
      if (what.id != metric::request_success) {
        counters[index] = &family.Add({});
        return;
      }
      for (const std::string_view reason : finished_reasons()) {
        success.push_back(&family.Add({{std::string(what.labels.front()), std::string(reason)}}));
      }
      return;
    }
    case metric_type::histogram: {
      auto& family = add_family(prometheus::BuildHistogram(), what.id, registry, labels);
      if (what.id != metric::step_time) {
        histograms[index] = &family.Add({}, bounds);
        return;
      }
      for (const std::string_view phase : step_phases()) {
        step_durations.push_back(
            &family.Add({{std::string(what.labels.front()), std::string(phase)}}, bounds));
      }
      return;
    }
  }
}

void engine_metrics::state::set_information(metric id, const prometheus::Labels& sample_labels) {
  const std::lock_guard lock(information_mutex);
  prometheus::Gauge*& sample = information_samples[id];
  if (sample != nullptr) information[id]->Remove(sample);
  sample = &information[id]->Add(sample_labels);
  sample->Set(1);
}

void engine_metrics::state::update_process() {
  const auto usage = read_process_usage();
  if (!usage) return;
  const std::lock_guard lock(process_mutex);
  prometheus::Counter& cpu = entry(counters, metric::process_cpu);
  cpu.Increment(std::max(0.0, usage->cpu_seconds - cpu.Value()));
  set(metric::process_resident_memory, usage->resident_bytes);
  set(metric::process_virtual_memory, usage->virtual_bytes);
  set(metric::process_open_descriptors, usage->open_descriptors);
  set(metric::process_max_descriptors, usage->max_descriptors);
  set(metric::process_start, usage->start_seconds);
}

engine_metrics::engine_metrics(const metrics_options& options) : state_(std::make_unique<state>(options)) {}
engine_metrics::~engine_metrics() = default;

void engine_metrics::set_cache_config(const cache_config& config) {
  state_->set_information(metric::cache_config_info, {{"block_size", std::to_string(config.block_size)},
                                                      {"num_gpu_blocks", std::to_string(config.num_blocks)},
                                                      {"cache_dtype", config.dtype}});
}

void engine_metrics::set_info(const program_info& info) {
  state_->set_information(metric::info, {{"version", info.version},
                                         {"cpu", info.cpu},
                                         {"kernel_path", info.kernel_path},
                                         {"threads", std::to_string(info.threads)}});
}

void engine_metrics::set_warmup_progress(double share) { state_->set(metric::warmup_progress, share); }

void engine_metrics::set_actors(std::size_t count) {
  state_->set(metric::actors, static_cast<double>(count));
}

void engine_metrics::set_requests(std::int64_t running, std::int64_t waiting, std::int64_t deferred) {
  state_->set(metric::requests_running, static_cast<double>(running));
  state_->set(metric::requests_waiting, static_cast<double>(waiting));
  state_->waiting[0]->Set(static_cast<double>(waiting - deferred));
  state_->waiting[1]->Set(static_cast<double>(deferred));
}

void engine_metrics::set_kv_cache_usage(double share) { state_->set(metric::kv_cache_usage, share); }
void engine_metrics::add_prefix_cache(std::uint64_t queries, std::uint64_t hits) {
  state_->increment(metric::prefix_cache_queries, queries);
  state_->increment(metric::prefix_cache_hits, hits);
}
void engine_metrics::add_prompt_tokens_cached(std::uint64_t count) {
  state_->increment(metric::prompt_tokens_cached, count);
}
void engine_metrics::add_prompt_tokens(std::uint64_t count) {
  state_->increment(metric::prompt_tokens, count);
}
void engine_metrics::add_generation_tokens(std::uint64_t count) {
  state_->increment(metric::generation_tokens, count);
}
void engine_metrics::add_preemptions(std::uint64_t count) { state_->increment(metric::preemptions, count); }

void engine_metrics::count_bucket_execution(const std::string& bucket) {
  state_->executions->Add({{"bucket", bucket}}).Increment();
}

void engine_metrics::add_bucket_padding(std::uint64_t tokens) {
  state_->increment(metric::bucket_padding_tokens, tokens);
}

void engine_metrics::add_bucket_fallbacks(std::uint64_t count) {
  state_->increment(metric::bucket_fallbacks, count);
}

void engine_metrics::observe_grammar_compile(seconds duration) {
  state_->observe(metric::grammar_compile_time, duration);
}

void engine_metrics::observe_grammar_mask(seconds duration) {
  state_->observe(metric::grammar_mask_time, duration);
}

void engine_metrics::add_grammar_cache(std::uint64_t queries, std::uint64_t hits) {
  state_->increment(metric::grammar_cache_queries, queries);
  state_->increment(metric::grammar_cache_hits, hits);
}

void engine_metrics::set_grammar_cache_bytes(std::int64_t bytes) {
  state_->set(metric::grammar_cache_bytes, static_cast<double>(bytes));
}

void engine_metrics::add_grammars_refused(std::uint64_t count) {
  state_->increment(metric::grammars_refused, count);
}

void engine_metrics::add_grammar_forced_tokens(std::uint64_t count) {
  state_->increment(metric::grammar_forced_tokens, count);
}

void engine_metrics::add_drafts(std::uint64_t drafts, std::uint64_t tokens, std::uint64_t accepted) {
  state_->increment(metric::drafts, drafts);
  state_->increment(metric::draft_tokens, tokens);
  state_->increment(metric::accepted_draft_tokens, accepted);
}

void engine_metrics::add_accepted_drafts(std::size_t position, std::uint64_t count) {
  if (position < state_->accepted_at.size())
    state_->accepted_at[position]->Increment(static_cast<double>(count));
}

void engine_metrics::observe_step_tokens(std::int64_t count) {
  state_->observe(metric::step_tokens, static_cast<double>(count));
}

void engine_metrics::observe_step(step_phase phase, seconds duration) {
  state_->step_durations[static_cast<std::size_t>(phase)]->Observe(duration);
}

void engine_metrics::observe_first_token(seconds since_arrival) {
  state_->observe(metric::time_to_first_token, since_arrival);
}

void engine_metrics::observe_inter_token(seconds since_previous) {
  state_->observe(metric::inter_token_latency, since_previous);
}

void engine_metrics::observe_request(const request_record& record) {
  const auto reasons = finished_reasons();
  const auto found = std::find(reasons.begin(), reasons.end(), record.finished_reason);
  const auto reason =
      found == reasons.end() ? reasons.size() - 1 : static_cast<std::size_t>(found - reasons.begin());
  state_->success[reason]->Increment();
  state_->observe(metric::request_latency, record.ended);
  state_->observe(metric::request_prompt_tokens, static_cast<double>(record.prompt_tokens));
  state_->observe(metric::request_generation_tokens, static_cast<double>(record.generation_tokens));
  if (record.max_tokens) state_->observe(metric::request_max_tokens, static_cast<double>(*record.max_tokens));
  if (!record.scheduled) return;
  state_->observe(metric::queue_time, *record.scheduled);
  if (!record.first_token || !record.last_token) return;
  const seconds decode = *record.last_token - *record.first_token;
  state_->observe(metric::inference_time, *record.last_token - *record.scheduled);
  state_->observe(metric::prefill_time, *record.first_token - *record.scheduled);
  state_->observe(metric::decode_time, decode);
  if (record.generation_tokens > 1) {
    state_->observe(metric::time_per_output_token,
                    decode / static_cast<double>(record.generation_tokens - 1));
  }
}

std::string engine_metrics::text() const {
  state_->update_process();
  return prometheus::TextSerializer().Serialize(state_->registry.Collect());
}

}  // namespace troupe::metrics
