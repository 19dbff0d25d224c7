#include <fmt/format.h>
#include <algorithm>
#include <iterator>
#include <map>
#include <utility>
#include <vector>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

block_release scheduler::state::retire(sequence& who) {
  const auto found = requests.find(who.id);
  who.ended = true;
  room_came_back = true;
  some_left = true;
  if (who.details->deadline) deadlines.erase({*who.details->deadline, who.id});
  if (who.details->queue_deadline && !who.details->admitted_once)
    queue_deadlines.erase({*who.details->queue_deadline, who.id});
  forget_mask(who);
  if (who.running) {
    return_blocks(who);
  } else {
    if (who.waits_for_grammar) {
      --num_without_grammar;
    } else {
      waiting->remove(who);
    }
    if (who.details->fork_of) --num_held;
    if (refused.who == &who) refused = {};
  }
  waiting->finished(who);
  tried.forget(who.id);
  if (!who.is_first_answer()) further_answers.erase({who.details->first_answer, who.id});
  retired.push_back(&who);
  requests.erase(found);
  return {who.id, who.last_step, false, who.place};
}

void scheduler::state::return_blocks(const sequence& who) {
  for (std::size_t i = 0; i < flights.size(); ++i)
    if (flights[i].step == who.last_step) flights[i].returning_blocks += who.table_length;
}

void scheduler::state::forget_retired() {
  if (is_planned || retired.empty()) return;
  std::erase_if(retired, [this](sequence* who) {
    if (who->last_step > committed) return false;
    const std::int32_t number = who->details->number;
    *who = {};
    sequences->pool.give_back(number);
    return true;
  });
}

void scheduler::state::add_end(const sequence& who, finish_reason reason, std::optional<error> failure,
                               scheduler_output& output) {
  token_event& event = output.events.emplace_back();
  event.id = who.id;
  event.end.emplace();
  event.end->reason = reason;
  event.end->failure = std::move(failure);
  event.end->tokens = who.tokens_used();
  event.end->preemptions = who.details->num_preemptions;
}

scheduler_output scheduler::state::end(request_id id, finish_reason reason, std::optional<error> failure) {
  const auto found = requests.find(id);
  scheduler_output output;
  if (found == requests.end()) return output;
  add_end(*found->second, reason, std::move(failure), output);
  output.releases = stopped(id).releases;
  return output;
}

scheduler_output scheduler::state::end_answers(std::vector<request_id> answers, const error& failure) {
  std::sort(answers.begin(), answers.end());
  scheduler_output output;
  for (const request_id id : answers) output.add_ended(end(id, finish_reason::error, failure));
  return output;
}

scheduler_output scheduler::state::stopped(request_id id) {
  const auto found = requests.find(id);
  scheduler_output output;
  if (found == requests.end()) return output;
  sequence& who = *found->second;
  output.releases.push_back(retire(who));
  if (who.running) std::erase(running, &who);
  clear_stage_for_suspects(output.releases);
  forget_retired();
  return output;
}

scheduler_output scheduler::state::expire(steady_time time) {
  scheduler_output output;
  while (!deadlines.empty() && deadlines.begin()->first <= time)
    output.add_ended(end(deadlines.begin()->second, finish_reason::timeout, std::nullopt));
  for (auto& [first, answers] : late_answers(time)) {
    const steady_time arrival = requests.at(first)->details->arrival;
    error failure{error_code::unavailable,
                  fmt::format("the request has waited for {:.1f} s and its turn has not come",
                              std::chrono::duration<double>(time - arrival).count())};
    failure.retry_after = seconds_between(arrival, time);
    if (answers.size() > 1) remember_refused(first);
    output.add_ended(end_answers(std::move(answers), failure));
  }
  return output;
}

// All answers of those whose queue deadline has passed, or that one alone where another has begun.
std::map<request_id, std::vector<request_id>> scheduler::state::late_answers(steady_time time) const {
  std::map<request_id, std::vector<request_id>> late;
  const auto has_begun = [this](request_id id) { return requests.at(id)->details->admitted_once; };
  for (auto each = queue_deadlines.begin(); each != queue_deadlines.end() && each->first <= time; ++each) {
    const request_id first = each->second;
    std::vector<request_id> answers = answers_of(first);
    if (std::ranges::any_of(answers, has_begun)) answers = {first};
    late.emplace(first, std::move(answers));
  }
  return late;
}

std::int32_t scheduler::state::seconds_between(steady_time from, steady_time to) {
  const auto whole = std::chrono::ceil<std::chrono::seconds>(to - from).count();
  return static_cast<std::int32_t>(std::clamp<std::int64_t>(whole, 1, 3600));
}

}  // namespace troupe
