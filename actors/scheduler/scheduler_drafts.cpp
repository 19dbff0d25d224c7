// The scheduler's part where somebody guesses: when the drafter is asked, and how long a step waits for it.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/scheduler/scheduler.hpp"

namespace troupe {

namespace {

// How far whoever drafts may be behind.
constexpr std::int32_t most_untold_steps = 8;

}  // namespace

void scheduler_state::open_drafts(const engine_request_ptr& request) {
  if (!drafter_ || request->sampling->num_speculative_tokens == 0) return;
  out_.send(drafter_, msg::open_drafts{request->id}, request);
  untold_.open(request->id);
}

void scheduler_state::note_news(const token_batch& events) {
  if (!drafter_) return;
  for (const token_event& event : events) {
    untold_.add(event.id, event.tokens);
    if (event.end) untold_.end(event.id);
  }
}

// Who has not answered is not asked anything else. Nobody is told what may wait: where hardly a draft comes,
// a message more for each step costs several sequences more than the drafts bring.
void scheduler_state::ask_drafter() {
  if (!drafter_) return;
  untold_.end_step();
  const bool may_ask = phase_ == phase::idle && !drafts_.is_open && untold_.has_tokens() &&
                       draft_patience_.asks() && scheduler_->wants_drafts();
  if (may_ask) return ask_for_drafts(draft_patience_.waits());
  if (untold_.has_ends() || untold_.num_steps() >= most_untold_steps) tell_drafter();
}

void scheduler_state::tell_drafter() {
  if (!untold_.is_empty())
    out_.send(drafter_, msg::observe_tokens{}, std::make_shared<const draft_news>(untold_.take()));
}

// A step is planned before the answer where that is not waited for.
void scheduler_state::ask_for_drafts(bool waits) {
  auto news = std::make_shared<draft_news>(untold_.take());
  for (draft_news::output& said : news->outputs)
    said.pending = scheduler_->pending_tokens(said.id) + (waits ? 0 : 1);
  drafts_.is_open = true;
  drafts_.stocks = 0;
  draft_patience_.asked();
  const std::uint64_t question = ++drafts_.number;
  out_.ask(drafter_, msg::propose_drafts{}, draft_news_ptr(std::move(news)))
      .then([this, question](const drafts_ptr& drafts) { on_drafts(question, *drafts); },
            [this, question](const caf::error&) { on_drafts(question, {}); });
  drafts_.due = now() + draft_patience::for_step_after(last_step_took_, board_->patience_for_answers());
  if (!waits) return;
  phase_ = phase::drafting;
  arm_drafts_timer();
}

// Whoever drafts knows no grammars. Where their owner has ended, so will their requests.
void scheduler_state::on_drafts(std::uint64_t question, const std::vector<draft>& drafts) {
  if (question != drafts_.number) return;  // of a drafter, or a draft model, that is gone
  std::vector<held_draft> held;
  for (const draft& guess : drafts) {
    if (const std::optional<std::int32_t> place = scheduler_->place_in_grammar(guess)) {
      held.push_back({guess, *place});
    } else {
      scheduler_->propose(guess);
    }
  }
  if (held.empty()) return end_drafting(question, {});
  out_.ask(structured_output_, msg::filter_drafts{},
           std::make_shared<const std::vector<held_draft>>(std::move(held)))
      .then([this, question](const drafts_ptr& possible) { end_drafting(question, *possible); },
            [this, question](const caf::error&) { end_drafting(question, {}); });
}

void scheduler_state::end_drafting(std::uint64_t question, const std::vector<draft>& possible) {
  if (question != drafts_.number) return;
  for (const draft& guess : possible) scheduler_->propose(guess);
  drafts_.is_open = false;
  draft_patience_.answered(now() > drafts_.due);
  if (phase_ == phase::drafting) phase_ = phase::idle;
  plan();
}

// One is enough for many steps whose drafts come in time: when it goes off it is set to the last of them.
void scheduler_state::arm_drafts_timer() { arm(drafts_.timers, drafts_.due, msg::drafts_due{}); }

void scheduler_state::drafts_due() {
  drafts_.timers.gone_off(now());
  if (phase_ != phase::drafting) return;
  if (now() < drafts_.due) return arm_drafts_timer();
  phase_ = phase::idle;
  plan();
}

// A step without drafts is a step like any other.
void scheduler_state::forget_drafts() {
  drafts_.is_open = false;
  draft_patience_.forget();
  ++drafts_.number;
  if (phase_ == phase::drafting) phase_ = phase::idle;
}

void scheduler_state::report_drafts(const draft_counts& now) {
  const draft_counts& before = reported_.drafts;
  if (now.drafts == before.drafts) return;
  metrics_->add_drafts(now.drafts - before.drafts, now.tokens - before.tokens,
                       now.accepted - before.accepted);
  metrics_->add_rejection_sampled(now.numbered.tokens - before.numbered.tokens,
                                  now.numbered.accepted - before.numbered.accepted);
  const draft_places& places = scheduler_->drafts_by_place();
  for (std::size_t i = 0; i < places.verified.size(); ++i)
    metrics_->add_draft_tokens(i, places.verified[i] - reported_places_.verified[i],
                               places.accepted[i] - reported_places_.accepted[i]);
  reported_places_ = places;
}

}  // namespace troupe
