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

std::optional<std::string> scheduler::describe(request_id id) const {
  const auto found = state_->requests.find(id);
  if (found == state_->requests.end()) return std::nullopt;
  if (found->second->running) return "running";
  const auto& waiting = state_->waiting;
  const auto ahead = std::find(waiting.begin(), waiting.end(), found->second.get()) - waiting.begin();
  if (ahead > 0) return fmt::format("waiting: {} ahead", ahead);
  if (static_cast<std::int32_t>(state_->running.size()) >= state_->limits.max_num_seqs) {
    return fmt::format("waiting: {} sequences are running (max_num_seqs)", state_->running.size());
  }
  if (state_->blocks_wanted > 0) {
    return fmt::format("waiting: no blocks (needs {}, free {})", state_->blocks_wanted, state_->blocks_free);
  }
  return "waiting: for the next step";
}

}  // namespace troupe
