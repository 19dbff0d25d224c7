#include <algorithm>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

std::optional<step_demand> scheduler::state::plan() {
  if (now != phase::idle) return std::nullopt;
  planned.clear();
  std::int32_t budget = limits.max_num_batched_tokens;
  for (sequence* who : running) {
    if (budget == 0) break;
    const std::int32_t num_rows = std::min(who->num_missing(), budget);
    planned.push_back({who, num_rows, who->num_computed + num_rows});
    budget -= num_rows;
  }
  // A prompt gets room for all of itself before its first chunk runs: half a prompt that has to be preempted
  // for want of blocks would have been computed for nothing.
  auto places = static_cast<std::size_t>(std::max(limits.max_num_seqs, 0));
  places -= std::min(places, running.size());
  for (sequence* who : waiting) {
    if (budget == 0 || places == 0) break;
    const std::int32_t num_rows = std::min(who->num_missing(), budget);
    planned.push_back({who, num_rows, who->num_tokens()});
    budget -= num_rows;
    --places;
  }
  if (planned.empty()) return std::nullopt;
  ++step;
  now = phase::planned;
  return demand_planned();
}

std::optional<step_demand> scheduler::state::demand_planned() const {
  step_demand demand;
  demand.step = step;
  demand.sequences.reserve(planned.size());
  for (const planned_rows& rows : planned) demand.sequences.push_back({rows.who->id, rows.num_tokens});
  return demand;
}

}  // namespace troupe
