// What becomes of the requests when the device has lost what it stored: they are computed again, from their
// prompts and the tokens that are known.
#include <algorithm>
#include <utility>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

scheduler_output scheduler::state::device_lost(blame whose) {
  const bool are_preempted = whose == blame::lack_of_memory && run_smaller_steps();
  if (are_preempted) whose = blame::nobody;
  if (whose == blame::lack_of_memory) whose = blame::oldest_step;
  std::optional<request_id> convicted;
  if (whose != blame::nobody) convicted = accuse_oldest_step(whose);
  forget_steps();
  for (sequence* who : running) {
    if (are_preempted) count_preemption(*who);
    send_back(*who);
  }
  running.clear();
  // A preempted one may have been waiting for its last step, too.
  for (const auto& [id, who] : requests) who->pending.clear();
  forget_retired();
  if (!convicted) return {};
  return end(*convicted, finish_reason::error,
             error{error_code::internal, "the model runner ends whenever it computes this request"});
}

bool scheduler::state::run_smaller_steps() {
  if (flights.empty()) return false;
  const step_in_flight& oldest = flights.front();
  const auto sequences = static_cast<std::int32_t>(oldest.rows.size());
  return bounds.lower(sequences, limits.enable_chunked_prefill ? oldest.batch->num_rows() : sequences);
}

// Those of its requests that have ended may have done it as well: who was beside them was not alone.
std::optional<request_id> scheduler::state::accuse_oldest_step(blame whose) {
  if (flights.empty()) return std::nullopt;
  std::vector<request_id> ids;
  for (const planned_rows& rows : flights.front().rows) ids.push_back(rows.who->id);
  const std::optional<request_id> convicted = tried.accuse(ids, whose);
  for (const planned_rows& rows : flights.front().rows)
    if (rows.who->ended) tried.forget(rows.who->id);
  return convicted;
}

// The answer to a plan that is open comes for nobody then.
void scheduler::state::forget_steps() {
  while (!flights.empty()) flights.pop();
  committed = step;
  is_planned = false;
  planned.clear();
  joining.clear();
  owed_releases.clear();
  refused = {};
  room_came_back = true;
}

void scheduler::state::send_back(sequence& who) {
  who.running = false;
  forget_mask(who);
  who.details->furthest = std::max(who.details->furthest, who.num_stored);
  who.num_computed = 0;
  who.num_stored = 0;
  who.table = nullptr;
  who.table_length = 0;
  waiting->add(who);
}

// Whoever has got over it makes room, too: the next ones are tried alone.
void scheduler::state::clear_stage_for_suspects(std::vector<block_release>& releases) {
  if (tried.empty()) return;
  for (std::size_t i = running.size(); i > 0; --i)
    if (!tried.may_run(running[i - 1]->id)) set_aside(i - 1, releases);
  some_left = true;
}

}  // namespace troupe
