#include "runtime/scheduler/scheduler.hpp"

#include <algorithm>
#include <utility>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

scheduler::state::state(scheduler_limits given, std::uint64_t last_step)
    : limits(std::move(given)),
      waiting(make_waiting_queue(limits.policy, limits.max_num_batched_tokens, limits.priority_patience)),
      step(last_step),
      committed(last_step),
      flights(static_cast<std::size_t>(std::clamp(limits.max_steps_in_flight, 1, most_steps_in_flight))) {}

scheduler::scheduler(scheduler_limits limits, std::uint64_t last_step)
    : state_(std::make_unique<state>(std::move(limits), last_step)) {}
scheduler::~scheduler() = default;
scheduler::scheduler(scheduler&&) noexcept = default;
scheduler& scheduler::operator=(scheduler&&) noexcept = default;

result<scheduler_output> scheduler::submit(engine_request request) {
  return state_->submit(std::move(request));
}
void scheduler::grammar_ready(request_id id) { state_->grammar_ready(id); }
scheduler_output scheduler::end(request_id id, finish_reason reason, std::optional<error> failure) {
  return state_->end(id, reason, std::move(failure));
}
scheduler_output scheduler::stopped(request_id id) { return state_->stopped(id); }
scheduler_output scheduler::expire(steady_time now) { return state_->expire(now); }
void scheduler::propose(draft guess) { state_->propose(std::move(guess)); }
std::optional<std::int32_t> scheduler::place_in_grammar(const draft& guess) const {
  return state_->place_in_grammar(guess);
}
void scheduler::measured_step(const timed_step& step, std::chrono::nanoseconds took) {
  state_->costs.measured(step, static_cast<double>(took.count()));
}
void scheduler::forget_step_costs() { state_->costs = {}; }
void scheduler::served_step(std::chrono::nanoseconds took) { state_->served_step(took); }
bool scheduler::wants_drafts() const { return state_->wants_drafts(); }
std::int32_t scheduler::pending_tokens(request_id id) const {
  const auto found = state_->requests.find(id);
  return found == state_->requests.end() ? 0 : found->second->num_pending();
}
step_demand_ptr scheduler::plan() { return state_->plan(); }
resolved_step scheduler::resolve(const step_reservation& reservation) { return state_->resolve(reservation); }
void scheduler::commit(const step_result& result, scheduler_output& output) {
  state_->commit(result, output);
}
const std::vector<request_id>& scheduler::awaiting_masks() const { return state_->awaiting_masks; }
void scheduler::masks_ready(std::span<const request_id> ids) { state_->masks_ready(ids); }
bool scheduler::have_all_costly_grammars() const {
  return std::ranges::all_of(state_->running, [](const sequence* who) { return who->has_costly_grammar; });
}
scheduler_output scheduler::device_lost(blame whose) { return state_->device_lost(whose); }
std::vector<engine_request> scheduler::requests_for_new_cache() const {
  return state_->requests_for_new_cache();
}
const step_bounds& scheduler::bounds() const { return state_->bounds; }
bool scheduler::lacks_memory() { return state_->lacks_memory(); }
void scheduler::change_storage(std::int32_t num_blocks) { state_->limits.num_blocks = num_blocks; }
void scheduler::change_limits(const scheduler_limits& next) { state_->change_limits(next); }
std::uint64_t scheduler::last_step() const { return state_->step; }
std::optional<request_state> scheduler::describe(request_id id) const { return state_->describe(id); }

std::optional<steady_time> scheduler::next_deadline() const {
  std::optional<steady_time> next;
  for (const auto* times : {&state_->deadlines, &state_->queue_deadlines})
    if (!times->empty() && (!next || times->begin()->first < *next)) next = times->begin()->first;
  return next;
}

std::vector<request_id> scheduler::open_requests() const {
  std::vector<request_id> ids;
  for (const auto& [id, who] : state_->requests) ids.push_back(id);
  return ids;
}

std::int32_t scheduler::steps_in_flight() const { return static_cast<std::int32_t>(state_->flights.size()); }

scheduler_counts scheduler::counts() const {
  scheduler_counts counts = state_->totals;
  counts.running = static_cast<std::int32_t>(state_->running.size());
  counts.waiting_for_grammar = static_cast<std::int32_t>(state_->num_without_grammar);
  counts.waiting = static_cast<std::int32_t>(state_->num_waiting());
  counts.steps_in_flight = steps_in_flight();
  return counts;
}

const draft_places& scheduler::drafts_by_place() const { return state_->by_place; }

}  // namespace troupe
