#include "runtime/scheduler/aging_queue.hpp"

#include <algorithm>
#include <utility>

namespace troupe {

void aging_queue::add(sequence& who) {
  if (!who.details->admitted_once) who.details->queued_at = admissions_;
  by_age_.insert(&who);
  by_priority_.insert(&who);
}

void aging_queue::remove(sequence& who) {
  by_age_.erase(&who);
  by_priority_.erase(&who);
  if (spared_ == &who) spared_ = nullptr;
}

sequence* aging_queue::gives_way_to(std::int32_t priority) {
  for (auto each = by_priority_.rbegin(); each != by_priority_.rend(); ++each) {
    sequence& who = **each;
    if (who.details->priority <= priority) break;
    const bool has_begun = who.details->admitted_once || who.details->another_answer_has_begun;
    if (has_begun || !who.is_first_answer() || is_overdue(who) || &who == spared_) continue;
    if (patience_ > 0 && spared_ == nullptr && std::exchange(spares_next_, false)) {
      spared_ = &who;
      continue;
    }
    spares_next_ = true;
    return &who;
  }
  return nullptr;
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
  return waiting.details->priority < runs.details->priority && !is_overdue(runs);
}

bool aging_queue::may_pass(const sequence& later, const sequence& first) const {
  if (is_overdue(first) != is_overdue(later)) return is_overdue(later);
  return is_overdue(later) || later.details->priority <= first.details->priority;
}

bool aging_queue::shares_with(const sequence& runs, const sequence& waiting) const {
  return waiting.details->priority <= runs.details->priority || is_overdue(waiting);
}

bool aging_queue::yields_before(const sequence& a, const sequence& b) const {
  if (is_overdue(a) != is_overdue(b)) return is_overdue(b);
  return !is_overdue(a) && a.details->priority > b.details->priority;
}

}  // namespace troupe
