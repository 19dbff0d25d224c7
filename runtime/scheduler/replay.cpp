// What becomes of the requests when the device has lost what it stored: they are computed again, from their
// prompts and the tokens that are known.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

// A fork shares its parent's tokens as long as it has none of its own.
std::vector<engine_request> scheduler::state::requests_for_new_cache() const {
  std::vector<engine_request> all;
  all.reserve(requests.size());
  for (const auto& [id, who] : requests) {
    const sequence_details& details = *who->details;
    engine_request& told = all.emplace_back();
    told.id = id;
    told.prompt.reserve(static_cast<std::size_t>(details.num_indexed));
    for (std::int32_t i = 0; i < details.num_indexed; ++i) told.prompt.push_back(who->token(i));
    told.sampling = details.sampling;
    told.cache_salt = details.cache_salt;
    if (who->num_generated() == 0) told.fork_of = details.shares_with;
  }
  std::ranges::sort(all, {}, &engine_request::id);
  return all;
}

scheduler_output scheduler::state::device_lost(blame whose) {
  std::optional<request_id> convicted;
  if (whose != blame::nobody) convicted = accuse_oldest_step(whose);
  start_over();
  if (!convicted) return {};
  return end(*convicted, finish_reason::error,
             error{error_code::internal, "the model runner ends whenever it computes this request"});
}

void scheduler::state::start_over() {
  forget_steps();
  for (sequence* who : running) send_back(*who);
  running.clear();
  // A preempted one may have been waiting for its last step, too.
  for (const auto& [id, who] : requests) who->pending.clear();
  forget_retired();
}

bool scheduler::state::lacks_memory() {
  if (flights.empty() || note_shortage(flights.front())) return false;
  if (!bounds.lower(size_of(flights.front()))) return false;
  for (sequence* who : running) count_preemption(*who);
  start_over();
  return true;
}

// Steps of less than half the size have been tried by then, whatever the size was. It need not be that.
bool scheduler::state::note_shortage(const step_in_flight& step) {
  constexpr std::int32_t most_shortages = 32;
  bool is_in_vain = false;
  for (const planned_rows& rows : step.rows) {
    sequence_details& who = *rows.who->details;
    const std::int32_t furthest = std::max(who.furthest, rows.who->num_stored);
    const bool got_further = furthest > std::exchange(who.furthest_at_shortage, furthest);
    who.shortages = got_further ? 1 : who.shortages + 1;
    is_in_vain = is_in_vain || who.shortages > most_shortages;
  }
  return is_in_vain;
}

// As far as there could be less of it: a prompt that is not to be cut counts as a row.
step_size scheduler::state::size_of(const step_in_flight& step) const {
  const auto sequences = static_cast<std::int32_t>(step.rows.size());
  if (limits.enable_chunked_prefill) return {sequences, step.batch->num_rows()};
  std::int32_t rows = sequences;
  for (const draft_samples& each : step.batch->drafts) rows += each.count;
  return {sequences, rows};
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
