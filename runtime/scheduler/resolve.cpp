#include <algorithm>
#include <utility>

#include "runtime/scheduler/batch_builder.hpp"
#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

const sequence_grant& scheduler::state::grant_of(const planned_rows& rows,
                                                 const step_reservation& reservation) {
  return reservation.sequences[static_cast<std::size_t>(rows.demand)];
}

resolved_step scheduler::state::resolve(const step_reservation& reservation) {
  resolved_step resolved;
  const bool expected =
      is_planned && reservation.step == step && reservation.sequences.size() == num_demanded;
  if (!expected) return resolved;

  learn_prefixes(reservation);
  if (!take_grants(reservation)) {
    joining.clear();  // nobody is granted blocks after a refusal
    const std::int32_t free_at_once = relieve(reservation, resolved.releases);
    if (free_at_once > 0 && !planned.empty()) {
      resolved.demand = demand_planned();
      return resolved;
    }
    planned.filter([](const planned_rows& rows) { return rows.granted; });
  } else if (!admit_joining(reservation)) {
    make_room_for_refused(resolved.releases);
  }
  is_planned = false;
  if (!planned.empty()) {
    if (!brief_prompts.empty() || !long_prompts.empty()) fill_up();
    send_off(reservation, resolved);
  } else {
    --step;
    // All that was planned has ended, was preempted or was refused. What waits is asked about again if blocks
    // have come back since: where no step is in flight, the caller has no other occasion to plan.
    if (flights.empty() && (room_came_back || !resolved.releases.empty())) resolved.demand = plan();
  }
  return resolved;
}

void scheduler::state::learn_prefixes(const step_reservation& reservation) {
  const std::size_t count = std::min(prefix_queries.size(), reservation.cached_lengths.size());
  for (std::size_t i = 0; i < count; ++i) {
    const auto found = requests.find(prefix_queries[i]);
    if (found != requests.end()) found->second->details->cached_prefix = reservation.cached_lengths[i];
  }
}

bool scheduler::state::take_grants(const step_reservation& reservation) {
  for (schedule_batch* batch : {&planned, &joining}) {
    for (planned_rows& rows : *batch)
      if (rows.demand != not_demanded) take_grant(rows, grant_of(rows, reservation));
    if (some_left) batch->filter_unfinished();
  }
  if (some_left) planned.filter([](const planned_rows& rows) { return rows.who->running; });
  return std::all_of(planned.begin(), planned.end(), [](const planned_rows& rows) { return rows.granted; });
}

void scheduler::state::take_grant(planned_rows& rows, const sequence_grant& grant) {
  rows.granted = grant.granted;
  if (!grant.granted) return;
  rows.who->place = grant.place;
  rows.who->table = grant.table.data();
  rows.who->table_length = static_cast<std::int32_t>(grant.table.size());
}

bool scheduler::state::admit_joining(const step_reservation& reservation) {
  refused = {};
  for (planned_rows& rows : joining) {
    if (rows.granted) {
      admit(rows, grant_of(rows, reservation).num_cached);
    } else if (refused.who == nullptr) {
      refused = {rows.who, grant_of(rows, reservation).blocks_needed, reservation.free_blocks, rows.keep_free,
                 rows.passes};
    }
  }
  joining.filter([](const planned_rows& rows) { return rows.granted; });
  planned.merge(joining);
  return refused.who == nullptr;
}

void scheduler::state::admit(planned_rows& rows, std::int32_t num_cached) {
  sequence& who = *rows.who;
  waiting->remove(who);
  who.running = true;
  running.push_back(&who);
  who.admitted_step = step;
  who.num_computed = std::clamp(num_cached, 0, who.num_tokens() - 1);
  who.num_stored = who.num_computed;
  who.last_slot = no_slot;
  who.details->known_at_admission = who.num_tokens();
  rows.num_rows = std::min(rows.num_rows, who.num_missing());
  waiting->admitted(who, rows.num_rows);
  if (std::exchange(who.details->admitted_once, true)) return;
  tell_first_answer(who);
  who.details->num_cached = std::min(who.num_computed, who.prompt_length);
  who.details->older_output.reserve(static_cast<std::size_t>(who.max_tokens));
  if (who.details->queue_deadline) queue_deadlines.erase({*who.details->queue_deadline, who.id});
}

// An answer that computes its prompt by itself may begin before the first one.
void scheduler::state::tell_first_answer(const sequence& who) {
  if (who.is_first_answer()) return;
  const auto first = requests.find(who.details->first_answer);
  if (first == requests.end()) return;
  sequence_details& its = *first->second->details;
  its.another_answer_has_begun = true;
  if (its.queue_deadline) queue_deadlines.erase({*its.queue_deadline, first->first});
  its.queue_deadline.reset();
}

// A prompt has room for all of itself since its first chunk: nothing is to be asked for.
void scheduler::state::fill_up() {
  std::int32_t left = token_budget();
  for (const planned_rows& rows : planned) left -= rows.num_rows;
  for (planned_rows& rows : planned) {
    if (left <= 0) return;
    const sequence& who = *rows.who;
    if (rows.num_drafts > 0 || rows.num_rows == who.num_missing()) continue;
    const std::int32_t room = who.table_length * limits.block_size - who.num_computed;
    const std::int32_t more = std::min(rows_of(who, rows.num_rows + left), room) - rows.num_rows;
    if (more <= 0) continue;
    rows.num_rows += more;
    left -= more;
  }
}

void scheduler::state::send_off(const step_reservation& reservation, resolved_step& resolved) {
  step_in_flight& flight = flights.push();
  flight.step = step;
  flight.has_draft_blocks = drop_vain_drafts();
  flight.batch = batches.take();
  if (flight.batch->keeps_sampling != sequences) flight.batch->keeps_sampling = sequences;
  build_batch(*flight.batch, step, planned, reservation, limits.block_size);
  flight.rows.swap(planned);
  resolved.batch = flight.batch;
  if (limits.reserve_new_tokens) new_tokens.decay();
}

}  // namespace troupe
