// The supervisor's part in the end: who is asked to finish, in which order, and how long they may take.
#include <algorithm>
#include <utility>

#include "actors/net/last_words.hpp"
#include "actors/supervisor.hpp"

namespace troupe {

caf::result<msg::company_drained> supervisor_state::drain(std::chrono::nanoseconds grace) {
  auto promise = self_->make_response_promise<msg::company_drained>();
  if (!introduced_ || draining_ == drain_phase::done) {
    promise.deliver(msg::company_drained{outcome_});
    return promise;
  }
  drains_.push_back(promise);
  flush_time_ = std::min(net::kept_for_last_words(grace), flush_time_);
  self_->delayed_send(supervisor_actor(self_), grace - flush_time_, msg::abort_all{});
  if (draining_ == drain_phase::none) drain_tokenizers();
  return promise;
}

void supervisor_state::abort_all() {
  if (!introduced_) return;
  if (draining_ == drain_phase::tokenizers) outcome_ = drain_outcome::requests_cut;
  // What is left of the grace then is for the runner to end, and for the process.
  self_->delayed_send(supervisor_actor(self_), flush_time_ * 2 / 3, msg::abandon_connections{});
  for (const tokenizer_actor& tokenizer : roster_.tokenizers) out_.send(tokenizer, msg::abort_all{});
}

void supervisor_state::abandon_connections() {
  for (const gateway_actor& gateway : gateways()) out_.send(gateway, msg::abandon_connections{});
  if (draining_ == drain_phase::none || draining_ == drain_phase::done) return;
  const bool requests_run = draining_ == drain_phase::tokenizers;
  outcome_ = std::max(outcome_, requests_run ? drain_outcome::requests_cut : drain_outcome::connections_cut);
  end_drain();
}

void supervisor_state::drain_tokenizers() {
  draining_ = drain_phase::tokenizers;
  parts_.board->draining();
  for (const tokenizer_actor& tokenizer : roster_.tokenizers) ask_to_drain(tokenizer);
  if (undrained_.empty()) drain_gateways();
}

// After the tokenizers: their last words are then already in the gateways' mailboxes.
void supervisor_state::drain_gateways() {
  draining_ = drain_phase::gateways;
  for (const gateway_actor& gateway : gateways()) ask_to_drain(gateway);
  if (undrained_.empty()) end_drain();
}

// A place may be vacant for a moment, or for good in a company that has failed.
template <class Handle>
void supervisor_state::ask_to_drain(const Handle& actor) {
  if (!actor) return;
  const caf::actor_id id = actor->id();
  undrained_.insert(id);
  out_.ask(actor, msg::drain{})
      .then([this, id](const msg::drained&) { has_drained(id); },
            [this, id](const caf::error&) {
              lost_in_drain();
              has_drained(id);
            });
}

void supervisor_state::lost_in_drain() {
  if (draining_ != drain_phase::none && draining_ != drain_phase::done)
    outcome_ = std::max(outcome_, drain_outcome::part_lost);
}

void supervisor_state::has_drained(caf::actor_id id) {
  if (undrained_.erase(id) == 0 || !undrained_.empty()) return;
  if (draining_ == drain_phase::tokenizers) return drain_gateways();
  if (draining_ == drain_phase::gateways) end_drain();
}

void supervisor_state::end_drain() {
  draining_ = drain_phase::done;
  for (auto& promise : std::exchange(drains_, {})) promise.deliver(msg::company_drained{outcome_});
}

}  // namespace troupe
