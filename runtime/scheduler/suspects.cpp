#include "runtime/scheduler/suspects.hpp"

#include <algorithm>

namespace troupe {

namespace {

constexpr std::int32_t weight_that_convicts = suspects::kills_that_convict;

std::int32_t weight_of(evidence how) {
  return how == evidence::weak ? 1 : weight_that_convicts / suspects::crashes_that_convict;
}

}  // namespace

std::optional<request_id> suspects::accuse(std::span<const request_id> in_step, evidence how) {
  if (in_step.empty()) return std::nullopt;
  for (const request_id id : in_step) {
    records_[id].weight += weight_of(how);
    remove(id);
  }
  const std::size_t half = in_step.size() / 2;
  groups_.emplace_front(in_step.begin() + static_cast<std::ptrdiff_t>(half), in_step.end());
  if (half > 0) groups_.emplace_front(in_step.begin(), in_step.begin() + static_cast<std::ptrdiff_t>(half));
  if (half > 0) return std::nullopt;
  const request_id alone = in_step.front();
  if (how == evidence::strong) ++records_[alone].crashes_alone;
  if (!is_guilty(alone)) return std::nullopt;
  remove(alone);
  return alone;
}

bool suspects::is_guilty(request_id id) const {
  const record& known = records_.at(id);
  return known.weight >= weight_that_convicts || known.crashes_alone >= most_crashes;
}

void suspects::acquit(request_id id) {
  if (remove(id)) records_[id].weight = 0;
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
