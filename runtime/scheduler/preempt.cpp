#include <algorithm>
#include <cstddef>
#include <vector>

#include "runtime/scheduler/scheduler_state.hpp"
#include "runtime/scheduler/waiting_line.hpp"

namespace troupe {

std::int32_t scheduler::state::relieve(const step_reservation& reservation,
                                       std::vector<block_release>& releases) {
  const auto wanted = [&reservation](const planned_rows& rows) {
    return rows.granted ? 0 : grant_of(rows, reservation).blocks_needed;
  };
  std::int32_t needed = 0;
  for (const planned_rows& rows : planned) needed += wanted(rows);
  std::int32_t coming = reservation.free_blocks + returning_blocks();
  std::int32_t free_at_once = 0;
  const std::size_t before = running.size();
  while (needed > coming) {
    const auto worst = worst_running();
    if (!worst) break;
    const sequence* victim = running[*worst];
    coming += victim->table_length;
    for (const planned_rows& rows : planned)
      if (rows.who == victim) needed -= wanted(rows);
    free_at_once += preempt(*worst, releases);
  }
  planned.filter([](const planned_rows& rows) { return rows.who->running; });
  if (limits.reserve_new_tokens && running.size() < before) {
    std::int64_t generated = 0;
    std::int64_t most = 0;
    for (const sequence* who : running) {
      generated += who->num_generated();
      most += who->max_tokens;
    }
    new_tokens.raise(generated, most, running.size());
  }
  return free_at_once;
}

// Nobody gives way for one that has passed another.
void scheduler::state::make_room_for_refused(std::vector<block_release>& releases) {
  if (refused.passes) return;
  std::int32_t coming = refused.blocks_free + returning_blocks();
  while (refused.blocks_wanted + refused.keep_free > coming) {
    const auto worst = worst_running();
    if (!worst || !waiting->preempts(*refused.who, *running[*worst])) break;
    coming += running[*worst]->table_length;
    preempt(*worst, releases);
  }
  planned.filter([](const planned_rows& rows) { return rows.who->running; });
}

namespace {

// Of one of those that run, whatever is thrown meanwhile. The list keeps its room.
class absence {
 public:
  absence(std::vector<sequence*>& running, std::size_t place)
      : running_(running), at_(running.begin() + static_cast<std::ptrdiff_t>(place)), who_(*at_) {
    at_ = running_.erase(at_);
  }
  ~absence() { running_.insert(at_, who_); }
  absence(const absence&) = delete;
  absence& operator=(const absence&) = delete;

 private:
  std::vector<sequence*>& running_;
  std::vector<sequence*>::iterator at_;
  sequence* who_;
};

}  // namespace

// There are no more places than the step has tokens. One of them a step is enough: each admission asks again.
// Whether the first would begin is seen by planning the step without the worst; where more run than there are
// places now, it would once others have left.
std::int32_t scheduler::state::make_place_for_first(std::int32_t left, const sequence* turn) {
  const auto places = static_cast<std::size_t>(most_running());
  const auto tokens = static_cast<std::size_t>(token_budget());
  if (waiting->size() == 0 || running.size() < std::min(places, tokens)) return left;
  const auto worst = worst_running();
  if (!worst) return left;
  const sequence* const first = first_to_admit();
  if (first == nullptr || !waiting->preempts(*first, *running[*worst])) return left;
  if (running.size() < places && rows_of_waiting(*first, left) > 0) return left;
  std::int32_t left_without = 0;
  bool would_begin = false;
  {
    const absence without(running, *worst);
    left_without = plan_running(turn);
    would_begin = running.size() >= places || rows_of_waiting(*first, left_without) > 0;
  }
  if (!would_begin) return plan_running(turn);
  preempt(*worst, owed_releases);
  return left_without;
}

const sequence* scheduler::state::first_to_admit() {
  waiting_line line(*waiting, 1, 1 + num_held);
  while (sequence* const first = line.next()) {
    const readiness now = readiness_of(*first);
    if (now == readiness::held) continue;
    return now == readiness::ready ? first : nullptr;
  }
  return nullptr;
}

// One whose last token is on its way gives its blocks back soon enough.
std::optional<std::size_t> scheduler::state::worst_running() const {
  std::optional<std::size_t> worst;
  for (std::size_t i = running.size(); i > 0; --i) {
    const sequence& who = *running[i - 1];
    if (who.is_sampled_out()) continue;
    if (!worst || waiting->yields_before(who, *running[*worst])) worst = i - 1;
  }
  return worst;
}

std::int32_t scheduler::state::preempt(std::size_t index, std::vector<block_release>& releases) {
  count_preemption(*running[index]);
  return set_aside(index, releases);
}

void scheduler::state::count_preemption(sequence& victim) {
  ++victim.details->num_preemptions;
  victim.tells_preemptions = true;
  ++totals.preemptions;
}

// Tokens that steps in flight sample for it still count; it comes back when they are known.
std::int32_t scheduler::state::set_aside(std::size_t index, std::vector<block_release>& releases) {
  sequence& victim = *running[index];
  running.erase(running.begin() + static_cast<std::ptrdiff_t>(index));
  releases.push_back({victim.id, victim.last_step, true, victim.place});
  const std::int32_t at_once = victim.last_step > committed ? 0 : victim.table_length;
  return_blocks(victim);
  send_back(victim);
  return at_once;
}

std::int32_t scheduler::state::returning_blocks() const {
  std::int32_t blocks = 0;
  for (std::size_t i = 0; i < flights.size(); ++i) blocks += flights[i].returning_blocks;
  for (const sequence* who : running) blocks += who->is_sampled_out() ? who->table_length : 0;
  return blocks;
}

}  // namespace troupe
