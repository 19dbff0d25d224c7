// The scheduler's request table and queues; its methods are spread over the .cpp files of this folder by
// concern.
#pragma once
#include <cstdint>
#include <deque>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/scheduler/scheduler.hpp"
#include "runtime/scheduler/sequence.hpp"

namespace troupe {

struct scheduler::state {
  enum class phase { idle, planned, in_flight };

  explicit state(scheduler_limits given) : limits(std::move(given)) {}

  // admission.cpp
  result<void> submit(engine_request request);
  result<std::int32_t> admissible_tokens(const engine_request& request) const;

  // plan.cpp
  std::optional<step_demand> plan();
  std::optional<step_demand> demand_planned() const;

  // resolve.cpp
  resolved_step resolve(const step_reservation& reservation);
  bool refuses_running(const step_reservation& reservation) const;
  void take_grants(const step_reservation& reservation);
  void preempt(const step_reservation& reservation, std::vector<block_release>& releases);
  void admit_planned();

  // commit.cpp
  scheduler_output commit(const step_result& result);
  void commit_rows(const step_result& result, scheduler_output& output);
  void commit_token(sequence& who, const sampled_token& sampled, scheduler_output& output);
  scheduler_output fail_step(std::uint64_t failed, const error& failure);

  // ending.cpp
  scheduler_output end(request_id id, finish_reason reason, std::optional<error> failure);
  scheduler_output stopped(request_id id);
  scheduler_output expire(steady_time time);
  // Takes a request out of the table and the deadlines. It stays in `running` or `waiting` for the caller to
  // remove.
  block_release retire(sequence& who);
  void remove_from_queues(const sequence& who);
  void finish_phase();

  // scheduler.cpp
  std::string why_waiting(const sequence& who) const;

  scheduler_limits limits;
  std::unordered_map<request_id, std::unique_ptr<sequence>> requests;
  std::vector<sequence*> running;  // oldest first
  std::deque<sequence*> waiting;   // next first
  std::set<std::pair<steady_time, request_id>> deadlines;

  phase now = phase::idle;
  std::uint64_t step = 0;                          // the number of the last plan
  std::vector<planned_rows> planned;               // of that plan: running sequences, then waiting ones
  step_batch_ptr batch;                            // in flight; its sequences are `planned`
  std::vector<std::unique_ptr<sequence>> retired;  // ended, but named by `planned`

  std::int32_t blocks_wanted = 0;  // by the first waiting request, when it was refused last
  std::int32_t blocks_free = 0;
  scheduler_counts totals;
};

}  // namespace troupe
