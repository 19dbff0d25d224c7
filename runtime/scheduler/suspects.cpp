#include "runtime/scheduler/suspects.hpp"

#include <algorithm>

namespace troupe {

std::optional<request_id> suspects::accuse(std::span<const request_id> in_step, blame whose) {
  if (in_step.empty() || whose == blame::nobody) return std::nullopt;
  std::int32_t most_kills = 0;
  for (const request_id id : in_step) {
    record& known = records_[id];
    ++(whose == blame::oldest_step ? known.crashes : known.kills);
    most_kills = std::max(most_kills, known.kills);
  }
  if (whose == blame::perhaps_oldest_step && most_kills < kills_that_try) return std::nullopt;
  for (const request_id id : in_step) remove(id);
  const std::size_t half = in_step.size() / 2;
  groups_.emplace_front(in_step.begin() + static_cast<std::ptrdiff_t>(half), in_step.end());
  if (half > 0) {
    groups_.emplace_front(in_step.begin(), in_step.begin() + static_cast<std::ptrdiff_t>(half));
    return std::nullopt;
  }
  const request_id alone = in_step.front();
  if (whose == blame::oldest_step) ++records_[alone].crashes_alone;
  if (!is_guilty(alone, whose)) return std::nullopt;
  remove(alone);
  return alone;
}

bool suspects::is_guilty(request_id id, blame whose) const {
  const record& known = records_.at(id);
  if (whose == blame::perhaps_oldest_step) return known.kills >= kills_that_convict;
  return known.crashes >= crashes_that_convict || known.crashes_alone >= most_crashes;
}

void suspects::acquit(request_id id) {
  remove(id);
  const auto found = records_.find(id);
  if (found == records_.end()) return;
  record& known = found->second;
  known.crashes = known.kills = 0;
  if (known.crashes_alone > 0 && ++known.steps == steps_for_a_crash) {
    --known.crashes_alone;
    known.steps = 0;
  }
  if (known.crashes_alone == 0) records_.erase(found);
}

void suspects::forget(request_id id) {
  remove(id);
  records_.erase(id);
}

bool suspects::may_run(request_id id) const {
  return groups_.empty() || std::ranges::find(groups_.front(), id) != groups_.front().end();
}

// Whether it was one.
bool suspects::remove(request_id id) {
  for (auto group = groups_.begin(); group != groups_.end(); ++group) {
    if (std::erase(*group, id) == 0) continue;
    if (group->empty()) groups_.erase(group);
    return true;
  }
  return false;
}

}  // namespace troupe
