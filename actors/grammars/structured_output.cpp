#include "actors/grammars/structured_output.hpp"

#include <chrono>
#include <functional>
#include <utility>

#include "actors/lost_part.hpp"
#include "actors/messaging/measured.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"

namespace troupe {
void structured_output_state::start(structured_output_parts parts) {
  parts_ = std::move(parts);
  sessions_ = grammar::grammar_sessions(parts_.grammars.jump_forward ? parts_.vocabulary : nullptr,
                                        parts_.grammars.mask_steps_per_step);
  queue_ = std::make_unique<grammar::compile_queue>(parts_.grammars.cache, parts_.vocabulary);
  team_ = std::make_unique<grammar::mask_team>(parts_.grammars.mask_threads);
}

void structured_output_state::meet(const company_roster& roster) {
  compilers_ = roster.compilers;
  miss_lost(grammar::compile_lane::quick, compilers_.quick);
  miss_lost(grammar::compile_lane::patient, compilers_.patient);
  compile_next();
  if (model_runner_ == roster.model_runner) return;
  model_runner_ = roster.model_runner;
  sessions_.forget_steps();
}

caf::result<msg::grammar_opened, error_ptr> structured_output_state::open(const msg::open_grammar& request,
                                                                          const grammar_spec_ptr& spec) {
  const request_id id = request.id;
  // Before it waits, since those who wait hold their texts.
  if (const auto checked = grammar::check_size(*spec, parts_.grammars.limits); !checked) {
    parts_.metrics->add_grammars_refused(1);
    return {msg::grammar_opened{id}, std::make_shared<const error>(checked.error())};
  }
  const auto known = queue_->ask(id, spec, self_->clock().now(), request.tenant);
  if (known) {
    report();
    return {msg::grammar_opened{id}, take_in(id, *known)};
  }
  auto promise = self_->make_response_promise<msg::grammar_opened, error_ptr>();
  promises_.insert_or_assign(id, promise);
  compile_next();
  return promise;
}

error_ptr structured_output_state::take_in(request_id id,
                                           const result<grammar::compiled_grammar_ptr>& outcome) {
  if (!outcome) return std::make_shared<const error>(outcome.error());
  sessions_.open(id, *outcome);
  return nullptr;
}

// Not while those that are in use fill the memory: one of their requests will end.
void structured_output_state::compile_next() {
  if (!trim() && sessions_.size() != 0) return;
  compile_next(grammar::compile_lane::quick, compilers_.quick);
  compile_next(grammar::compile_lane::patient, compilers_.patient);
}

void structured_output_state::compile_next(grammar::compile_lane lane, grammar_compiler_actor& compiler) {
  if (!compiler) return;
  const grammar_spec_ptr spec = queue_->next(lane);
  if (!spec) return;
  asked_[static_cast<std::size_t>(lane)] = compiler;
  out_.ask(compiler, msg::compile_grammar{}, spec)
      .then(
          [this, lane, asked = compiler](const msg::grammar_compiled& took,
                                         const compile_outcome_ptr& outcome) {
            if (asked == asked_[static_cast<std::size_t>(lane)]) on_compiled(lane, took, *outcome);
          },
          [this, lane, asked = compiler, &compiler](const caf::error&) {
            if (asked != asked_[static_cast<std::size_t>(lane)]) return;
            if (compiler == asked) compiler = nullptr;
            on_compiled(lane, {}, tl::unexpected(lost_part()));
          });
}

void structured_output_state::miss_lost(grammar::compile_lane lane, const grammar_compiler_actor& now) {
  const grammar_compiler_actor& asked = asked_[static_cast<std::size_t>(lane)];
  if (asked && asked != now) on_compiled(lane, {}, tl::unexpected(lost_part()));
}

void structured_output_state::on_compiled(grammar::compile_lane lane, const msg::grammar_compiled& took,
                                          const result<grammar::compiled_grammar_ptr>& outcome) {
  asked_[static_cast<std::size_t>(lane)] = nullptr;
  parts_.metrics->observe_grammar_compile(metrics::in_seconds(std::chrono::nanoseconds(took.nanoseconds)));
  for (const request_id id : queue_->done(lane, outcome, self_->clock().now())) {
    const auto found = promises_.find(id);
    if (found == promises_.end()) continue;
    opened_promise promise = std::move(found->second);
    promises_.erase(found);
    promise.deliver(msg::grammar_opened{id}, take_in(id, outcome));
  }
  compile_next();
}

void structured_output_state::release(const std::vector<request_id>& ids) {
  for (const request_id id : ids) {
    sessions_.release(id);
    queue_->forget(id);
    if (const auto found = promises_.find(id); found != promises_.end()) {
      found->second.deliver(msg::grammar_opened{id}, error_ptr());
      promises_.erase(found);
    }
  }
  compile_next();
  go_on();
}

// All that the runner had sampled for these requests came here before the scheduler heard of it.
drafts_ptr structured_output_state::filter(const std::vector<held_draft>& drafts) {
  auto left = std::make_shared<std::vector<draft>>();
  std::uint64_t refused = 0;
  for (const held_draft& each : drafts) {
    draft& guess = left->emplace_back(each.guess);
    const std::size_t possible =
        sessions_.count_possible(guess.id, static_cast<std::size_t>(each.num_generated), guess.tokens);
    guess.cut_for_grammar(possible);
    refused += each.guess.tokens.size() - guess.tokens.size();
  }
  parts_.metrics->add_grammar_refused_draft_tokens(refused);
  return left;
}

void structured_output_state::fill_masks(const step_batch& batch) {
  sessions_.begin(batch);
  go_on();
}

msg::masks_prepared structured_output_state::prepare_masks(const std::vector<request_id>& ids) {
  msg::masks_prepared ready{sessions_.prepare(ids)};
  trim();
  return ready;
}

void structured_output_state::go_on() {
  using clock = std::chrono::steady_clock;
  const auto begin = clock::now();
  const auto timed = [this](const std::function<void()>& fill) {
    const auto one = clock::now();
    fill();
    parts_.metrics->observe_grammar_mask(metrics::in_seconds(clock::now() - one));
  };
  bool filled = false;
  while (true) {
    filled = sessions_.fill_ready(*team_, timed) != 0 || filled;
    step_masks_ptr masks = sessions_.take();
    if (!masks) break;
    send_off(std::move(masks));
  }
  if (!filled) return;
  refuse_overruns();
  parts_.metrics->observe_step(metrics::step_phase::mask, metrics::in_seconds(clock::now() - begin));
  trim();
}

void structured_output_state::refuse_overruns() {
  for (const grammar::grammar_sessions::overrun& past : sessions_.take_overruns()) {
    parts_.metrics->add_grammar_masks_refused(1);
    if (!past.is_of_text) queue_->cache().refuse(*past.grammar, past.why, self_->clock().now());
  }
}

void structured_output_state::send_off(step_masks_ptr masks) {
  const std::uint64_t step = masks->step;
  out_.ask(model_runner_, msg::apply_masks{step}, std::move(masks))
      .then(
          [this](const step_result_ptr& result) {
            sessions_.advance(*result);
            go_on();
          },
          [](const caf::error&) {});  // the supervisor introduces another runner
}

bool structured_output_state::trim() {
  const bool fits = queue_->cache().trim();
  report();
  return fits;
}

void structured_output_state::report() {
  const grammar::grammar_cache::counts now = queue_->cache().count();
  parts_.metrics->add_grammar_cache(now.queries - reported_.queries, now.hits - reported_.hits);
  parts_.metrics->add_grammars_refused(now.refused - reported_.refused);
  parts_.metrics->set_grammar_cache_bytes(static_cast<std::int64_t>(now.bytes));
  reported_ = now;
}

structured_output_actor::behavior_type structured_output_behavior(
    structured_output_actor::stateful_pointer<structured_output_state> self, structured_output_parts parts) {
  const auto metrics = parts.metrics;
  self->state.start(std::move(parts));
  return measured(
      self, metrics,
      [self](const msg::meet&, const company_roster_ptr& roster) { self->state.meet(*roster); },
      [self](const msg::open_grammar& request, const grammar_spec_ptr& spec) {
        return self->state.open(request, spec);
      },
      [self](const msg::release_grammars& ended) { self->state.release(ended.ids); },
      [self](const msg::filter_drafts&, const held_drafts_ptr& drafts) {
        return self->state.filter(*drafts);
      },
      [self](const msg::fill_masks&, const step_batch_ptr& batch) { self->state.fill_masks(*batch); },
      [self](const msg::prepare_masks& asked) { return self->state.prepare_masks(asked.ids); },
      [self](const msg::count&) { return self->state.count(); },
      [self](const msg::take_stock& stock) { self->state.take_stock(stock); });
}

}  // namespace troupe
