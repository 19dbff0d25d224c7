#include <algorithm>
#include <utility>

#include "runtime/scheduler/batch_builder.hpp"
#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

resolved_step scheduler::state::resolve(const step_reservation& reservation) {
  resolved_step resolved;
  const bool expected =
      now == phase::planned && reservation.step == step && reservation.sequences.size() == planned.size();
  if (!expected) return resolved;

  blocks_wanted = 0;
  if (refuses_running(reservation)) {
    preempt(reservation, resolved.releases);
    if (!planned.empty()) {
      resolved.demand = demand_planned();
      return resolved;
    }
  } else {
    take_grants(reservation);
  }
  if (!planned.empty()) {
    admit_planned();
    batch = build_batch(step, planned, reservation.block_tables, limits.block_size);
    resolved.batch = batch;
    now = phase::in_flight;
    return resolved;
  }
  // All that was planned has ended, was preempted or was refused. What waits is asked about again if blocks
  // have come back since; the caller may have no other occasion to plan.
  const bool blocks_came_back = !retired.empty() || !resolved.releases.empty();
  finish_phase();
  if (blocks_came_back) resolved.demand = plan();
  return resolved;
}

bool scheduler::state::refuses_running(const step_reservation& reservation) const {
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const sequence& who = *planned[i].who;
    if (who.running && !who.ended && !reservation.sequences[i].granted) return true;
  }
  return false;
}

void scheduler::state::take_grants(const step_reservation& reservation) {
  std::size_t kept = 0;
  for (std::size_t i = 0; i < planned.size(); ++i) {
    planned_rows rows = planned[i];
    const sequence_grant& grant = reservation.sequences[i];
    if (rows.who->ended) continue;
    if (!grant.granted) {
      blocks_wanted = grant.blocks_needed;
      blocks_free = reservation.free_blocks;
      break;
    }
    rows.who->num_reserved = std::max(rows.who->num_reserved, rows.num_tokens);
    rows.table_offset = grant.table_offset;
    rows.table_length = grant.table_length;
    planned[kept++] = rows;
  }
  planned.resize(kept);
}

// Takes running requests out, the newest first, until those left have the blocks they asked for. Leaves in
// `planned` the running ones that stay; nothing is admitted in such a step.
void scheduler::state::preempt(const step_reservation& reservation, std::vector<block_release>& releases) {
  std::int32_t needed = 0;
  std::size_t kept = 0;
  std::vector<std::int32_t> wanted;  // [kept]
  for (std::size_t i = 0; i < planned.size(); ++i) {
    const planned_rows rows = planned[i];
    const sequence_grant& grant = reservation.sequences[i];
    if (rows.who->ended || !rows.who->running) continue;
    if (grant.granted) rows.who->num_reserved = std::max(rows.who->num_reserved, rows.num_tokens);
    wanted.push_back(grant.granted ? 0 : grant.blocks_needed);
    needed += wanted.back();
    planned[kept++] = rows;
  }

  std::int32_t free = reservation.free_blocks;
  while (needed > free && !running.empty()) {
    sequence& victim = *running.back();
    running.pop_back();
    if (kept > 0 && planned[kept - 1].who == &victim) needed -= wanted[--kept];
    free += (victim.num_reserved + limits.block_size - 1) / limits.block_size;
    releases.push_back({victim.id, victim.last_step});
    victim.running = false;
    victim.num_computed = 0;
    victim.num_reserved = 0;
    waiting.push_front(&victim);
    ++totals.preemptions;
  }
  planned.resize(kept);
}

// What was granted of the waiting requests stands at the front of their queue, in the same order.
void scheduler::state::admit_planned() {
  for (const planned_rows& rows : planned) {
    rows.who->last_step = step;
    if (rows.who->running) continue;
    rows.who->running = true;
    running.push_back(rows.who);
    waiting.pop_front();
  }
}

}  // namespace troupe
