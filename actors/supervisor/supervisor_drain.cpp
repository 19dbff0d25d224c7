// The supervisor's part in the end: who is asked to finish, in which order, and how long they may take.
#include <algorithm>
#include <utility>

#include "actors/net/last_words.hpp"
#include "actors/supervisor/supervisor.hpp"

namespace troupe {

caf::result<msg::company_drained> supervisor_state::drain(std::chrono::nanoseconds grace) {
  auto promise = self_->make_response_promise<msg::company_drained>();
  if (!introduced_ || drain_.phase == drain_phase::done) {
    promise.deliver(msg::company_drained{drain_.outcome, drain_.aborted});
    return promise;
  }
  drain_.promises.push_back(promise);
  drain_.flush_time = std::min(net::kept_for_last_words(grace), drain_.flush_time);
  if (!drain_.has_begun()) close_doors();
  if (drain_.is_grace_over) {
    abort_all();
  } else {
    self_->delayed_send(supervisor_actor(self_), grace - drain_.flush_time, msg::abort_all{});
  }
  return promise;
}

// A drain that is asked for later has none, either.
void supervisor_state::end_grace() {
  if (std::exchange(drain_.is_grace_over, true)) return;
  drain_.flush_time = std::min(drain_.flush_time, net::kept_without_grace);
  if (drain_.is_under_way()) abort_all();
}

void supervisor_state::abort_all() {
  if (!introduced_) return;
  drain_.is_aborting = true;
  // What is left of the grace then is for the runner to end, and for the process.
  self_->delayed_send(supervisor_actor(self_), drain_.flush_time * 2 / 3, msg::abandon_connections{});
  for (const tokenizer_actor& tokenizer : roster_.tokenizers) out_.send(tokenizer, msg::abort_all{});
}

void supervisor_state::abandon_connections() {
  for (const gateway_actor& gateway : gateways()) out_.send(gateway, msg::abandon_connections{});
  if (!drain_.is_under_way()) return;
  const bool requests_run = drain_.phase != drain_phase::gateways;
  drain_.outcome =
      std::max(drain_.outcome, requests_run ? drain_outcome::requests_cut : drain_outcome::connections_cut);
  end_drain();
}

// Before the tokenizers: so nobody is refused whose request a gateway had before.
void supervisor_state::close_doors() {
  drain_.phase = drain_phase::doors;
  parts_.board->draining();
  for (const gateway_actor& gateway : gateways()) ask_to<msg::close_doors>(gateway);
  if (drain_.unanswered.empty()) drain_tokenizers();
}

void supervisor_state::drain_tokenizers() {
  drain_.phase = drain_phase::tokenizers;
  for (const tokenizer_actor& tokenizer : roster_.tokenizers) {
    ask_to<msg::drain>(tokenizer);
    if (drain_.is_aborting) out_.send(tokenizer, msg::abort_all{});
  }
  if (drain_.unanswered.empty()) drain_gateways();
}

// After the tokenizers: their last words are then already in the gateways' mailboxes.
void supervisor_state::drain_gateways() {
  drain_.phase = drain_phase::gateways;
  for (const gateway_actor& gateway : gateways()) ask_to<msg::drain>(gateway);
  if (drain_.unanswered.empty()) end_drain();
}

// A place may be vacant for a moment, or for good in a company that has failed.
template <class Request, class Handle>
void supervisor_state::ask_to(const Handle& actor) {
  if (!actor) return;
  const caf::actor_id id = actor->id();
  drain_.unanswered.insert(id);
  out_.ask(actor, Request{})
      .then(
          [this, id](const msg::drained& told) {
            drain_.aborted += told.aborted;
            if (told.aborted > 0) drain_.outcome = drain_outcome::requests_cut;
            has_drained(id);
          },
          [this, id](const caf::error&) {
            lost_in_drain();
            has_drained(id);
          });
}

void supervisor_state::lost_in_drain() {
  if (drain_.is_under_way()) drain_.outcome = std::max(drain_.outcome, drain_outcome::part_lost);
}

void supervisor_state::has_drained(caf::actor_id id) {
  if (drain_.unanswered.erase(id) == 0 || !drain_.unanswered.empty()) return;
  if (drain_.phase == drain_phase::doors) return drain_tokenizers();
  if (drain_.phase == drain_phase::tokenizers) return drain_gateways();
  if (drain_.phase == drain_phase::gateways) end_drain();
}

void supervisor_state::end_drain() {
  drain_.phase = drain_phase::done;
  for (auto& promise : std::exchange(drain_.promises, {}))
    promise.deliver(msg::company_drained{drain_.outcome, drain_.aborted});
}

}  // namespace troupe
