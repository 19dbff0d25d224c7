#include "runtime/scheduler/aging_queue.hpp"

#include <algorithm>

namespace troupe {

void aging_queue::add(sequence& who) {
  if (!who.admitted_once) who.queued_at = admissions_;
  by_age_.insert(&who);
  by_priority_.insert(&who);
}

void aging_queue::remove(sequence& who) {
  by_age_.erase(&who);
  by_priority_.erase(&who);
}

// Who came first is overdue first.
void aging_queue::order(std::size_t most, std::vector<sequence*>& ordered) const {
  for (auto each = by_age_.begin(); each != by_age_.end() && ordered.size() < most; ++each) {
    if (!is_overdue(**each)) break;
    ordered.push_back(*each);
  }
  for (auto each = by_priority_.begin(); each != by_priority_.end() && ordered.size() < most; ++each)
    if (!is_overdue(**each)) ordered.push_back(*each);
}

bool aging_queue::preempts(const sequence& waiting, const sequence& runs) const {
  return waiting.priority < runs.priority && !is_overdue(runs);
}

bool aging_queue::yields_before(const sequence& a, const sequence& b) const {
  if (is_overdue(a) != is_overdue(b)) return is_overdue(b);
  return !is_overdue(a) && a.priority > b.priority;
}

}  // namespace troupe
