#include "metrics/engine_metrics.hpp"

#include <prometheus/text_serializer.h>

#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "metrics/engine_metrics_state.hpp"

namespace troupe::metrics {

engine_metrics::engine_metrics(const metrics_options& options) : state_(std::make_unique<state>(options)) {}
engine_metrics::~engine_metrics() = default;

void engine_metrics::set_runner_process(const runner_process_info& process) {
  const std::lock_guard lock(state_->process_mutex);
  state_->runner_process = process;
}

void engine_metrics::set_gpu(const gpu_info& gpu) {
  const std::lock_guard lock(state_->process_mutex);
  state_->gpu_watch.watch(gpu.bus_id);
  // Another executor begins at 0 again.
  const auto count = [&](metric id, std::uint64_t before, std::uint64_t now) {
    state_->increment(id, now < before ? now : now - before);
  };
  const auto count_steps = [&](const eager_counts& before, const eager_counts& now) {
    count(metric::gpu_eager_steps, before.steps, now.steps);
    count(metric::gpu_eager_decodes, before.decodes, now.decodes);
  };
  count_steps(state_->gpu.model, gpu.model);
  count_steps(state_->gpu.draft_model, gpu.draft_model);
  state_->gpu = gpu;
}

void engine_metrics::set_max_model_len(std::int64_t tokens) {
  for (const auto& family : state_->families)
    if (family->counts_tokens()) family->end_buckets_at(static_cast<double>(tokens));
}

void engine_metrics::set_cache_config(const cache_config& config) {
  state_->set_information(metric::cache_config_info, {{"block_size", std::to_string(config.block_size)},
                                                      {"num_gpu_blocks", std::to_string(config.num_blocks)},
                                                      {"cache_dtype", config.dtype}});
}

void engine_metrics::set_info(const program_info& info) {
  const std::lock_guard lock(state_->process_mutex);
  state_->program = info;
  state_->tell_program();
}

void engine_metrics::set_kernel_path(const std::string& path) {
  const std::lock_guard lock(state_->process_mutex);
  state_->program.kernel_path = path;
  state_->tell_program();
}

void engine_metrics::set_warmup_progress(double share) { state_->set(metric::warmup_progress, share); }

void engine_metrics::set_actors(std::size_t count) {
  state_->set(metric::actors, static_cast<double>(count));
}

void engine_metrics::set_health(bool live, bool ready) {
  state_->set(metric::live, live ? 1 : 0);
  state_->set(metric::ready, ready ? 1 : 0);
}

void engine_metrics::set_last_reload(bool taken) { state_->set(metric::last_reload_refused, taken ? 0 : 1); }

void engine_metrics::set_degraded() { state_->set(metric::degraded, 1); }

actor_meter& engine_metrics::actor(const std::string& name) { return state_->actors.meter(name); }
void engine_metrics::add_pulse(std::uint64_t actor, const std::shared_ptr<actor_pulse>& pulse) {
  state_->actors.add(actor, pulse);
}
std::shared_ptr<actor_pulse> engine_metrics::pulse(std::uint64_t actor) const {
  return state_->actors.pulse(actor);
}

void engine_metrics::set_requests(std::int64_t running, std::int64_t waiting, std::int64_t deferred) {
  const bool has_work = running + waiting > deferred;
  if (has_work && !state_->has_work.load()) step_ended();
  state_->has_work.store(has_work);
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

void engine_metrics::add_buckets(const std::vector<std::string>& buckets) {
  for (const std::string& bucket : buckets) state_->executions.of(bucket);
}

void engine_metrics::count_bucket_execution(const std::string& bucket) {
  state_->executions.of(bucket).fetch_add(1, std::memory_order_relaxed);
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

void engine_metrics::add_grammar_masks_refused(std::uint64_t count) {
  state_->increment(metric::grammar_masks_refused, count);
}

void engine_metrics::add_grammar_forced_tokens(std::uint64_t count) {
  state_->increment(metric::grammar_forced_tokens, count);
}

void engine_metrics::add_grammar_withheld_rows(std::uint64_t count) {
  state_->increment(metric::grammar_withheld_rows, count);
}

void engine_metrics::add_grammar_refused_draft_tokens(std::uint64_t count) {
  state_->increment(metric::grammar_refused_draft_tokens, count);
}

void engine_metrics::add_drafts(std::uint64_t drafts, std::uint64_t tokens, std::uint64_t accepted) {
  state_->increment(metric::drafts, drafts);
  state_->increment(metric::draft_tokens, tokens);
  state_->increment(metric::accepted_draft_tokens, accepted);
}

void engine_metrics::set_drafter_memory(std::size_t bytes, std::uint64_t forgotten_requests) {
  state_->set(metric::drafter_bytes, static_cast<double>(bytes));
  state_->increment(metric::drafter_forgotten_requests, forgotten_requests);
}

void engine_metrics::add_rejection_sampled(std::uint64_t tokens, std::uint64_t accepted) {
  state_->increment(metric::rejection_sampled_tokens, tokens);
  state_->increment(metric::rejection_sampled_accepted, accepted);
}

void engine_metrics::add_draft_tokens(std::size_t position, std::uint64_t verified, std::uint64_t accepted) {
  if (position >= state_->verified_at.size()) return;
  state_->verified_at[position]->Increment(static_cast<double>(verified));
  state_->accepted_at[position]->Increment(static_cast<double>(accepted));
}

void engine_metrics::observe_step_tokens(std::int64_t count) {
  state_->observe(metric::step_tokens, static_cast<double>(count));
}

void engine_metrics::step_ended() { state_->last_step.store(steady_nanoseconds()); }

void engine_metrics::observe_step(step_phase phase, seconds duration) {
  state_->step_durations[static_cast<std::size_t>(phase)]->observe(duration);
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

void engine_metrics::observe_choices(const choices_record& record) {
  state_->observe(metric::request_choices, static_cast<double>(record.count));
  state_->observe(metric::request_max_generation_tokens, static_cast<double>(record.most_generation_tokens));
}

void engine_metrics::add_exported_spans(std::uint64_t count) {
  state_->increment(metric::exported_spans, count);
}

void engine_metrics::add_dropped_spans(span_loss why, std::uint64_t count) {
  state_->lost_spans[static_cast<std::size_t>(why)]->Increment(static_cast<double>(count));
}

void engine_metrics::add_request_error(int status) {
  const auto statuses = error_statuses();
  const auto place_of = [&](std::string_view wanted) {
    return static_cast<std::size_t>(std::find(statuses.begin(), statuses.end(), wanted) - statuses.begin());
  };
  const std::size_t known = place_of(std::to_string(status));
  const bool is_the_clients = (status >= 400 && status < 500) || status == 505;
  const std::size_t otherwise = place_of(is_the_clients ? "400" : "500");
  state_->errors[known < statuses.size() ? known : otherwise]->Increment();
}

std::string engine_metrics::text() const {
  state_->update_process();
  state_->update_runner_process();
  state_->update_gpu();
  state_->update_step_age();
  std::vector<prometheus::MetricFamily> all = state_->registry.Collect();
  std::vector<prometheus::MetricFamily> actors = state_->actors.collect();
  std::move(actors.begin(), actors.end(), std::back_inserter(all));
  std::string out = prometheus::TextSerializer().Serialize(all);
  for (const auto& family : state_->families) family->append_to(out);
  state_->actors.messages().append_to(out);
  state_->executions.append_to(out);
  return out;
}

}  // namespace troupe::metrics
