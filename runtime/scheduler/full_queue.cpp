// What becomes of a request that finds the queue full, and of those that wait there. A request is let in,
// refused or given up with all its answers.
#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <utility>
#include <vector>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

result<scheduler_output> scheduler::state::make_room_in_queue(const engine_request& request) {
  if (const request_id first = request.first_answer(); first != request.id) {
    if (refused_first(first)) return queue_is_full(request.arrival);
    return {};
  }
  if (!is_queue_full() || !answers_of(request.id).empty()) return {};
  if (const sequence* worst = waiting->gives_way_to(request.priority); worst != nullptr)
    return displace(worst->id, request.arrival);
  remember_refused(request.id);
  return queue_is_full(request.arrival);
}

// Those that come at once wait for a moment although there are places for them to run at: each such place
// takes one more into the queue.
bool scheduler::state::is_queue_full() const {
  const std::int64_t free = limits.max_num_seqs - static_cast<std::int64_t>(running.size());
  return num_waiting() >=
         limits.max_num_queued_requests + static_cast<std::size_t>(std::max<std::int64_t>(free, 0));
}

bool scheduler::state::refused_first(request_id first) const {
  return std::find(refused_firsts.begin(), refused_firsts.end(), first) != refused_firsts.end();
}

std::vector<request_id> scheduler::state::answers_of(request_id first) const {
  std::vector<request_id> answers;
  if (requests.contains(first)) answers.push_back(first);
  auto each = further_answers.lower_bound({first, 0});
  for (; each != further_answers.end() && each->first == first; ++each) answers.push_back(each->second);
  return answers;
}

void scheduler::state::remember_refused(request_id first) {
  if (refused_firsts.size() == most_refused_firsts) refused_firsts.pop_front();
  refused_firsts.push_back(first);
}

scheduler_output scheduler::state::displace(request_id first, steady_time now) {
  error failure{
      error_code::unavailable,
      fmt::format("the queue is full ({} may wait, max_num_queued_requests), and a request of a lower "
                  "priority number has taken this one's place; try again later",
                  limits.max_num_queued_requests)};
  failure.retry_after = seconds_the_next_waits(now);
  remember_refused(first);
  return end_answers(answers_of(first), failure);
}

tl::unexpected<error> scheduler::state::queue_is_full(steady_time arrival) const {
  error refusal{
      error_code::resource_exhausted,
      fmt::format("the queue is full: {} running (max_num_seqs {}), {} waiting (max_num_queued_requests {}, "
                  "and one more for each place that is free); try again later",
                  running.size(), limits.max_num_seqs, num_waiting(), limits.max_num_queued_requests)};
  refusal.retry_after = seconds_the_next_waits(arrival);
  return tl::unexpected<error>(std::move(refusal));
}

// The next in line has been waiting for so long: a newcomer may expect no less.
std::int32_t scheduler::state::seconds_the_next_waits(steady_time now) const {
  const std::vector<sequence*>& first = waiting->next(1);
  return seconds_between(first.empty() ? now : first.front()->details->arrival, now);
}

}  // namespace troupe
