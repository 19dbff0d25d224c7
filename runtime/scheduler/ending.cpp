#include <algorithm>
#include <utility>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

block_release scheduler::state::retire(sequence& who) {
  const auto found = requests.find(who.id);
  who.ended = true;
  if (who.deadline) deadlines.erase({*who.deadline, who.id});
  retired.push_back(std::move(found->second));
  requests.erase(found);
  return {who.id, who.last_step};
}

void scheduler::state::remove_from_queues(const sequence& who) {
  if (who.running) {
    std::erase(running, &who);
    return;
  }
  if (!waiting.empty() && waiting.front() == &who) blocks_wanted = 0;
  std::erase(waiting, &who);
}

void scheduler::state::finish_phase() {
  now = phase::idle;
  batch.reset();
  planned.clear();
  retired.clear();
}

scheduler_output scheduler::state::end(request_id id, finish_reason reason, std::optional<error> failure) {
  const auto found = requests.find(id);
  scheduler_output output;
  if (found == requests.end()) return output;
  token_event& event = output.events.emplace_back();
  event.id = id;
  event.end.emplace();
  event.end->reason = reason;
  event.end->failure = std::move(failure);
  event.end->tokens = found->second->tokens_used();
  output.releases = stopped(id).releases;
  return output;
}

scheduler_output scheduler::state::stopped(request_id id) {
  const auto found = requests.find(id);
  scheduler_output output;
  if (found == requests.end()) return output;
  sequence& who = *found->second;
  remove_from_queues(who);
  output.releases.push_back(retire(who));
  if (now == phase::idle) retired.clear();
  return output;
}

scheduler_output scheduler::state::expire(steady_time time) {
  scheduler_output output;
  while (!deadlines.empty() && deadlines.begin()->first <= time) {
    scheduler_output ended = end(deadlines.begin()->second, finish_reason::timeout, std::nullopt);
    std::move(ended.events.begin(), ended.events.end(), std::back_inserter(output.events));
    std::move(ended.releases.begin(), ended.releases.end(), std::back_inserter(output.releases));
  }
  return output;
}

}  // namespace troupe
