#include "runtime/scheduler/scheduler.hpp"

#include <fmt/format.h>
#include <algorithm>
#include <utility>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

scheduler::scheduler(scheduler_limits limits) : state_(std::make_unique<state>(std::move(limits))) {}
scheduler::~scheduler() = default;
scheduler::scheduler(scheduler&&) noexcept = default;
scheduler& scheduler::operator=(scheduler&&) noexcept = default;

result<void> scheduler::submit(engine_request request) { return state_->submit(std::move(request)); }
scheduler_output scheduler::end(request_id id, finish_reason reason, std::optional<error> failure) {
  return state_->end(id, reason, std::move(failure));
}
scheduler_output scheduler::stopped(request_id id) { return state_->stopped(id); }
scheduler_output scheduler::expire(steady_time now) { return state_->expire(now); }
std::optional<step_demand> scheduler::plan() { return state_->plan(); }
resolved_step scheduler::resolve(const step_reservation& reservation) { return state_->resolve(reservation); }
scheduler_output scheduler::commit(const step_result& result) { return state_->commit(result); }
scheduler_output scheduler::fail_step(std::uint64_t step, const error& failure) {
  return state_->fail_step(step, failure);
}

std::optional<steady_time> scheduler::next_deadline() const {
  if (state_->deadlines.empty()) return std::nullopt;
  return state_->deadlines.begin()->first;
}

bool scheduler::step_in_flight() const { return state_->now == state::phase::in_flight; }

scheduler_counts scheduler::counts() const {
  scheduler_counts counts = state_->totals;
  counts.running = static_cast<std::int32_t>(state_->running.size());
  counts.waiting = static_cast<std::int32_t>(state_->waiting.size());
  return counts;
}

std::optional<request_state> scheduler::describe(request_id id) const {
  const auto found = state_->requests.find(id);
  if (found == state_->requests.end()) return std::nullopt;
  const sequence& who = *found->second;
  request_state now;
  now.id = id;
  now.phase = who.running ? request_phase::running : request_phase::waiting;
  now.reason = who.running ? "running" : state_->why_waiting(who);
  now.prompt_tokens = who.prompt_length;
  now.computed_tokens = who.num_computed;
  now.generated_tokens = who.num_generated();
  return now;
}

std::string scheduler::state::why_waiting(const sequence& who) const {
  const auto ahead = std::find(waiting.begin(), waiting.end(), &who) - waiting.begin();
  if (ahead > 0) return fmt::format("waiting: {} ahead", ahead);
  if (static_cast<std::int32_t>(running.size()) >= limits.max_num_seqs)
    return fmt::format("waiting: {} sequences are running (max_num_seqs)", running.size());
  if (blocks_wanted > 0)
    return fmt::format("waiting: no blocks (needs {}, free {})", blocks_wanted, blocks_free);
  return "waiting: for the next step";
}

}  // namespace troupe
