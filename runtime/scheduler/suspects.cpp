#include "runtime/scheduler/suspects.hpp"

#include <algorithm>

namespace troupe {

std::optional<request_id> suspects::accuse(std::span<const request_id> in_step) {
  for (const request_id id : in_step) ++losses_[id];
  if (in_step.empty()) return std::nullopt;
  if (in_step.size() == 1) {
    const request_id id = in_step.front();
    const bool was_suspect = remove(id);
    if (was_suspect || losses_[id] >= most_losses) return id;
    groups_.push_front({id});
    return std::nullopt;
  }
  for (const request_id id : in_step) remove(id);
  const std::size_t half = in_step.size() / 2;
  groups_.emplace_front(in_step.begin() + static_cast<std::ptrdiff_t>(half), in_step.end());
  groups_.emplace_front(in_step.begin(), in_step.begin() + static_cast<std::ptrdiff_t>(half));
  return std::nullopt;
}

void suspects::acquit(request_id id) { remove(id); }

void suspects::forget(request_id id) {
  remove(id);
  losses_.erase(id);
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
