#include "runtime/scheduler/waiting_queue.hpp"

#include <algorithm>

#include "runtime/scheduler/aging_queue.hpp"
#include "runtime/scheduler/arrival_queue.hpp"
#include "runtime/scheduler/fair_queue.hpp"
#include "runtime/scheduler/lpm_queue.hpp"

namespace troupe {

std::optional<scheduling_policy> parse_policy(std::string_view word) {
  if (word == "fcfs") return scheduling_policy::fcfs;
  if (word == "priority") return scheduling_policy::priority;
  if (word == "lpm") return scheduling_policy::lpm;
  if (word == "drr") return scheduling_policy::drr;
  return std::nullopt;
}

const std::vector<sequence*>& waiting_queue::next(std::size_t most) {
  next_.clear();
  order(most, next_);
  return next_;
}

std::size_t waiting_queue::ahead_of(const sequence& who) const {
  std::vector<sequence*> ordered;
  order(size(), ordered);
  return static_cast<std::size_t>(std::find(ordered.begin(), ordered.end(), &who) - ordered.begin());
}

std::unique_ptr<waiting_queue> make_waiting_queue(scheduling_policy policy, std::int32_t quantum,
                                                  std::int32_t patience) {
  if (policy == scheduling_policy::lpm) return std::make_unique<lpm_queue>();
  if (policy == scheduling_policy::drr) return std::make_unique<fair_queue>(std::max(quantum, 1));
  if (policy == scheduling_policy::priority) return std::make_unique<aging_queue>(patience);
  return std::make_unique<arrival_queue>();
}

}  // namespace troupe
