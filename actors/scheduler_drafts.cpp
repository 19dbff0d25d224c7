// The scheduler's part where somebody guesses: when the drafter is asked, and how long a step waits for it.
#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "actors/scheduler.hpp"

namespace troupe {

void scheduler_state::open_drafts(const engine_request_ptr& request) {
  if (drafter_ && request->sampling->num_speculative_tokens != 0)
    out_.send(drafter_, msg::open_drafts{request->id}, request);
}

// Who has not answered is not asked anything else.
void scheduler_state::tell_drafter(const token_batch& events) {
  if (!drafter_ || events.empty()) return;
  const bool may_ask = phase_ == phase::idle && !drafts_.is_open && scheduler_->wants_drafts();
  const bool waits = draft_patience_.waits();
  auto news = std::make_shared<draft_news>();
  for (const token_event& event : events) {
    if (!event.tokens.empty()) {
      draft_news::output& said = news->outputs.emplace_back();
      said.id = event.id;
      said.count = static_cast<std::int32_t>(event.tokens.size());
      // A step is planned before the answer where that is not waited for.
      if (may_ask) said.pending = scheduler_->pending_tokens(event.id) + (waits ? 0 : 1);
    }
    news->tokens.insert(news->tokens.end(), event.tokens.begin(), event.tokens.end());
    if (event.end) news->ended.push_back(event.id);
  }
  if (!may_ask || news->outputs.empty()) {
    out_.send(drafter_, msg::observe_tokens{}, draft_news_ptr(std::move(news)));
    return;
  }
  ask_for_drafts(std::move(news), waits);
}

void scheduler_state::ask_for_drafts(draft_news_ptr news, bool waits) {
  drafts_.is_open = true;
  drafts_.stocks = 0;
  const std::uint64_t question = ++drafts_.number;
  out_.ask(drafter_, msg::propose_drafts{}, std::move(news))
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
