// The scheduler's part where requests are held to grammars: how long they wait for theirs, and for masks that
// take long.
#include <chrono>
#include <utility>
#include <vector>

#include "actors/scheduler/scheduler.hpp"

namespace troupe {

void scheduler_state::open_grammar(const engine_request& request) {
  const request_id id = request.id;
  with_grammar_.insert_or_assign(id, grammar_wait{now()});
  const wanted_grammar wanted{request.sampling->grammar, request.tenant};
  without_grammar_.emplace(id, wanted);
  ask_for_grammar(id, wanted);
}

void scheduler_state::ask_for_grammar(request_id id, const wanted_grammar& wanted) {
  out_.ask(structured_output_, msg::open_grammar{id, wanted.tenant}, wanted.spec)
      .then([this, id](const msg::grammar_opened&,
                       const error_ptr& refusal) { on_grammar_opened(id, refusal.get()); },
            [](const caf::error&) {});  // the supervisor introduces another one
}

void scheduler_state::on_grammar_opened(request_id id, const error* refusal) {
  without_grammar_.erase(id);
  if (const auto found = with_grammar_.find(id); found != with_grammar_.end())
    found->second.waited = now() - found->second.since;
  if (refusal != nullptr) return settle(scheduler_->end(id, finish_reason::error, *refusal));
  scheduler_->grammar_ready(id);
  changed_ = true;
  plan();
  report();
}

void scheduler_state::release_grammars(std::vector<request_id> ended) {
  std::erase_if(ended, [this](request_id id) { return with_grammar_.erase(id) == 0; });
  for (const request_id id : ended) without_grammar_.erase(id);
  if (!ended.empty()) out_.send(structured_output_, msg::release_grammars{std::move(ended)});
}

std::chrono::nanoseconds scheduler_state::waited_for_grammar(request_id id) const {
  const auto found = with_grammar_.find(id);
  if (found == with_grammar_.end()) return std::chrono::nanoseconds(0);
  return found->second.waited.value_or(now() - found->second.since);
}

// Once a step, so that those who run beside it are slowed by no more than one step's share of work; without a
// pause where nobody is, or no step runs. Where it is lost with its owner, its requests end.
void scheduler_state::ask_for_masks() {
  if (masks_.is_open || scheduler_->awaiting_masks().empty()) return;
  masks_ = {.number = masks_.number + 1, .is_open = true};
  out_.ask(structured_output_, msg::prepare_masks{scheduler_->awaiting_masks()})
      .then(
          [this, question = masks_.number](const msg::masks_prepared& ready) {
            if (question == masks_.number) on_masks_prepared(ready.ids);
          },
          [](const caf::error&) {});  // the supervisor introduces another one
}

void scheduler_state::on_masks_prepared(const std::vector<request_id>& ids) {
  masks_.is_open = false;
  scheduler_->masks_ready(ids);
  changed_ = true;
  plan();
  if (scheduler_->have_all_costly_grammars()) ask_for_masks();
}

}  // namespace troupe
