#include "actors/scheduler/scheduler.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <unordered_set>
#include <utility>

#include "actors/lost_part.hpp"
#include "actors/messaging/measured.hpp"
#include "actors/scheduler/step_work.hpp"

namespace troupe {
namespace {

token_event refusal_of(const engine_request& request, error failure) {
  token_event refusal;
  refusal.id = request.id;
  refusal.end.emplace();
  refusal.end->reason = finish_reason::error;
  refusal.end->failure = std::move(failure);
  refusal.end->tokens.prompt_tokens = static_cast<std::int32_t>(request.prompt.size());
  return refusal;
}

}  // namespace

// Steps are numbered on from those of the scheduler before this one: the runner may still know of them.
void scheduler_state::start(scheduler_parts parts) {
  scheduler_ = std::make_unique<scheduler>(std::move(parts.limits), parts.board->last_step());
  board_ = std::move(parts.board);
  metrics_ = std::move(parts.metrics);
  board_->step_ended();
}

void scheduler_state::submit(const engine_request_ptr& request) {
  if (!knows_sender(request->id)) return refuse_stranger(*request);
  result<scheduler_output> accepted = scheduler_->submit(*request);
  if (!accepted) {
    token_batch events{refusal_of(*request, std::move(accepted.error()))};
    return deliver({}, events);
  }
  out_.send(kv_cache_, msg::add_sequence{request->id}, request);
  unscheduled_.insert(request->id);
  if (request->sampling->grammar) open_grammar(*request);
  open_drafts(request);
  if (!accepted->events.empty()) settle(std::move(*accepted));
  changed_ = true;
  arm_timer();
  plan();
  report();
}

// Its tokens would go to whoever was there before. The next stock-taking shows that a roster was lost.
void scheduler_state::refuse_stranger(const engine_request& request) {
  auto events = std::make_shared<const token_batch>(1, refusal_of(request, lost_part()));
  out_.send(caf::actor_cast<tokenizer_actor>(self_->current_sender()), msg::token_output{},
            token_batch_ptr(std::move(events)));
}

void scheduler_state::note_step_cost(const msg::step_cost& cost) {
  scheduler_->measured_step({cost.rows, cost.context, cost.is_random},
                            std::chrono::nanoseconds(cost.nanoseconds));
}

void scheduler_state::abort(request_id id) { settle(scheduler_->end(id, finish_reason::abort)); }

void scheduler_state::stopped(const std::vector<request_id>& ids) {
  scheduler_output all;
  for (const request_id id : ids) {
    unscheduled_.erase(id);
    all.add_ended(scheduler_->stopped(id));
  }
  if (!with_grammar_.empty()) release_grammars(ids);
  for (const request_id id : ids) untold_.end(id);
  tell_drafter();
  settle(std::move(all));
}

void scheduler_state::expire() {
  timers_.gone_off(now());
  settle(scheduler_->expire(now()));
  arm_timer();
}

void scheduler_state::reload(const scheduler_limits& limits) {
  scheduler_->change_limits(limits);
  changed_ = true;
  plan();
}

msg::request_counts scheduler_state::count() const {
  const scheduler_counts counts = scheduler_->counts();
  return {counts.running, counts.waiting, counts.preemptions, counts.drafts.tokens, counts.drafts.accepted};
}

void scheduler_state::plan() {
  const bool can_run = model_runner_ && kv_cache_ && !is_storage_lost_;
  if (phase_ != phase::idle || !can_run) return;
  planned_at_ = now();
  step_demand_ptr demand = scheduler_->plan();
  if (!demand && running_.empty()) ask_for_masks();
  if (!demand) return;
  metrics_->observe_step(metrics::step_phase::plan, metrics::in_seconds(now() - planned_at_));
  reserve(std::move(demand));
}

void scheduler_state::reserve(step_demand_ptr demand) {
  phase_ = phase::reserving;
  stocks_without_reservation_ = 0;
  changed_ = false;
  const std::uint64_t step = demand->step;
  out_.ask(kv_cache_, msg::reserve_step{step}, std::move(demand))
      .then(
          [this, asked = num_kv_caches_](const step_reservation_ptr& reservation) {
            if (asked == num_kv_caches_) on_reservation(*reservation);
          },
          [](const caf::error&) {});  // the supervisor introduces another one
}

void scheduler_state::on_reservation(const step_reservation& reservation) {
  resolved_step resolved = scheduler_->resolve(reservation);
  if (!resolved.releases.empty()) out_.send(kv_cache_, msg::release_blocks{std::move(resolved.releases)});
  if (resolved.demand) return reserve(std::move(resolved.demand));
  phase_ = phase::idle;
  if (resolved.batch) {
    metrics_->observe_step(metrics::step_phase::reserve, metrics::in_seconds(now() - planned_at_));
    run(std::move(resolved.batch));
    plan();
    if (!running_.back().scheduled.empty()) report();  // somebody runs who did not before
  } else if (changed_) {
    plan();
  } else if (running_.empty()) {
    ask_for_masks();
  }
}

void scheduler_state::run(step_batch_ptr batch) {
  const std::uint64_t step = batch->step;
  board_->step_sent(step);
  board_->queue_moves();
  running_.push_back({step, batch->num_rows(), work_of(*batch), now(), first_scheduled(*batch)});
  if (running_.size() == 1) board_->step_started(running_.front().began, running_.front().work);
  metrics_->observe_step_tokens(batch->num_rows());
  if (!batch->masked_samples.empty()) out_.send(structured_output_, msg::fill_masks{step}, batch);
  out_.ask(model_runner_, msg::run_step{step}, std::move(batch))
      .then(
          [this](const msg::step_done& done, const step_result_ptr& result) { on_step_done(done, *result); },
          [](const caf::error&) {});  // the supervisor tells what became of the runner
}

scheduler_state::running_step scheduler_state::take_oldest() {
  metrics_->step_ended();
  running_step ended = std::move(running_.front());
  running_.pop_front();
  if (running_.empty()) {
    board_->step_ended();
  } else {
    running_.front().began = now();
    board_->step_started(running_.front().began, running_.front().work);
  }
  return ended;
}

void scheduler_state::on_step_done(const msg::step_done& done, const step_result& result) {
  if (running_.empty() || running_.front().step != done.step) return;
  const steady_time began = now();
  if (!pulse_) pulse_ = metrics_->pulse(self_->id());
  if (pulse_) pulse_->touch(began);
  deadly_rows_ = 0;
  has_served_ = true;
  const running_step ended = take_oldest();
  last_step_took_ = began - ended.began;
  scheduler_->served_step(std::chrono::nanoseconds(done.nanoseconds));
  scheduler_->commit(result, output_);
  settle_step(ended);
  if (is_storage_lost_ && running_.empty()) lose_storage(blame::nobody);
  metrics_->observe_step(metrics::step_phase::execute,
                         metrics::in_seconds(std::chrono::nanoseconds(done.nanoseconds)));
  metrics_->observe_step(metrics::step_phase::commit, metrics::in_seconds(now() - began));
}

// The next step first, then this one's text: the runner need not wait for the tokenizers. Who reads a token
// finds it counted.
void scheduler_state::settle_step(const running_step& ended) {
  out_.send(kv_cache_, msg::commit_step{ended.step, std::move(output_.appends), std::move(output_.appended),
                                        std::move(output_.trims), std::move(output_.releases)});
  changed_ = true;
  const std::uint64_t accepted = scheduler_->counts().drafts.accepted;
  draft_patience_.committed(accepted - std::exchange(accepted_draft_tokens_, accepted),
                            output_.events.size());
  note_news(output_.events);
  ask_drafter();
  plan();
  ask_for_masks();
  report();
  deliver(ended, output_.events);
}

void scheduler_state::settle(scheduler_output output) {
  if (!output.releases.empty()) out_.send(kv_cache_, msg::release_blocks{std::move(output.releases)});
  note_news(output.events);
  if (untold_.has_ends()) tell_drafter();
  deliver(begun_by(output.events), output.events);
  changed_ = true;
  plan();
  report();
}

scheduler_state::running_step scheduler_state::begun_by(const token_batch& ends) const {
  running_step begun;
  if (running_.empty() || running_.front().scheduled.empty()) return begun;
  begun.began = running_.front().began;
  std::unordered_set<request_id> ended;
  for (const token_event& event : ends)
    if (event.end) ended.insert(event.id);
  for (const msg::first_step& first : running_.front().scheduled)
    if (ended.contains(first.id)) begun.scheduled.push_back(first);
  return begun;
}

void scheduler_state::deliver(const running_step& step, token_batch& events) {
  std::vector<request_id> ended;
  for (token_event& event : events) {
    if (!event.end) continue;
    ended.push_back(event.id);
    event.end->grammar_wait = waited_for_grammar(event.id);
  }
  if (!unscheduled_.empty())
    for (const request_id id : ended) unscheduled_.erase(id);
  if (!with_grammar_.empty()) release_grammars(std::move(ended));
  const std::size_t shards = tokenizers_.size();
  std::vector<token_batch> batches(shards);
  std::vector<std::vector<msg::first_step>> scheduled(shards);
  for (token_event& event : events) batches[event.id % shards].push_back(std::move(event));
  for (const msg::first_step& first : step.scheduled) scheduled[first.id % shards].push_back(first);
  for (std::size_t shard = 0; shard < shards; ++shard) {
    if (batches[shard].empty() && scheduled[shard].empty()) continue;
    auto payload = std::make_shared<const token_batch>(std::move(batches[shard]));
    out_.send(tokenizers_[shard], msg::token_output{step.step, step.began, std::move(scheduled[shard])},
              token_batch_ptr(std::move(payload)));
  }
}

std::vector<msg::first_step> scheduler_state::first_scheduled(const step_batch& batch) {
  std::vector<msg::first_step> first;
  if (unscheduled_.empty()) return first;
  for (const sequence_rows& sequence : batch.sequences)
    if (unscheduled_.erase(sequence.id) != 0)
      first.push_back({sequence.id, waited_for_grammar(sequence.id).count()});
  return first;
}

void scheduler_state::arm_timer() {
  if (const std::optional<steady_time> next = scheduler_->next_deadline()) arm(timers_, *next, msg::expire{});
}

void scheduler_state::report() {
  const scheduler_counts counts = scheduler_->counts();
  metrics_->set_requests(counts.running, counts.waiting, counts.waiting_for_grammar);
  metrics_->add_preemptions(counts.preemptions - reported_.preemptions);
  metrics_->add_prompt_tokens(counts.prompt_tokens - reported_.prompt_tokens);
  metrics_->add_prompt_tokens_cached(counts.cached_tokens - reported_.cached_tokens);
  metrics_->add_grammar_forced_tokens(counts.forced_tokens - reported_.forced_tokens);
  metrics_->add_grammar_withheld_rows(counts.withheld_samples - reported_.withheld_samples);
  report_drafts(counts.drafts);
  reported_ = counts;
  if (running_.empty() && counts.running + counts.waiting > counts.waiting_for_grammar) {
    board_->queue_waits(now());
  } else {
    board_->queue_moves();
  }
}

scheduler_actor::behavior_type scheduler_behavior(scheduler_actor::stateful_pointer<scheduler_state> self,
                                                  scheduler_parts parts) {
  const auto metrics = parts.metrics;
  self->state.start(std::move(parts));
  return measured(
      self, metrics,
      [self](const msg::meet&, const company_roster_ptr& roster) { self->state.meet(*roster); },
      [self](const msg::runner_lost& lost) { return self->state.runner_lost(lost); },
      [self](const msg::submit&, const engine_request_ptr& request) { self->state.submit(request); },
      [self](const msg::abort& request) { self->state.abort(request.id); },
      [self](const msg::stopped& streams) { self->state.stopped(streams.ids); },
      [self](const msg::expire&) { self->state.expire(); },
      [self](const msg::drafts_due&) { self->state.drafts_due(); },
      [self](const msg::step_cost& cost) { self->state.note_step_cost(cost); },
      [self](const msg::forget_step_costs&) { self->state.forget_step_costs(); },
      [self](const msg::reload&, const company_limits_ptr& limits) {
        self->state.reload(limits->scheduling);
      },
      [self](const msg::describe& request, const describe_call_ptr& call) {
        self->state.describe(request.id, *call);
      },
      [self](const msg::count&) { return self->state.count(); },
      [self](const msg::take_stock& stock) { self->state.take_stock(stock); },
      [self](const msg::still_open& streams) { self->state.end_all_but(streams.ids); });
}

}  // namespace troupe
