#include "runtime/scheduler/lpm_queue.hpp"

#include <algorithm>

namespace troupe {

void lpm_queue::add(sequence& who) {
  if (!who.details->admitted_once) who.details->queued_at = admissions_;
  waiting_.insert(&who);
}

void lpm_queue::order(std::size_t most, std::vector<sequence*>& ordered) const {
  const std::size_t count = std::min(waiting_.size(), std::max(most, most_compared));
  auto each = waiting_.begin();
  for (std::size_t i = 0; i < count; ++i) ordered.push_back(*each++);
  const auto compared = ordered.begin() + static_cast<std::ptrdiff_t>(std::min(count, most_compared));
  // Tickets make the order whole, so that no memory is needed to keep it stable.
  std::sort(ordered.begin(), compared, [this](const sequence* a, const sequence* b) {
    const bool overdue = is_overdue(*a);
    if (overdue != is_overdue(*b)) return overdue;
    if (!overdue && a->details->cached_prefix != b->details->cached_prefix)
      return a->details->cached_prefix > b->details->cached_prefix;
    return a->details->ticket < b->details->ticket;
  });
  if (ordered.size() > most) ordered.resize(most);
}

void lpm_queue::want_prefixes(std::vector<request_id>& ids) const {
  const std::size_t compared = std::min(waiting_.size(), most_compared);
  const std::size_t count = std::min(compared, most_asked);
  auto each = waiting_.begin();
  std::size_t at = 0;
  for (; at < compared && (*each)->details->ticket <= asked_; ++at) ++each;
  for (std::size_t i = 0; i < count; ++i, ++at) {
    if (at == compared) {
      at = 0;
      each = waiting_.begin();
    }
    asked_ = (*each)->details->ticket;
    ids.push_back((*each++)->id);
  }
}

}  // namespace troupe
