// Continuous batching: which tokens of which requests run in the next step. No clock, no thread, no message.
//
//   plan() -> step_demand -> [kv_cache] -> resolve() -> batch or another demand -> [runner] -> commit()
#pragma once
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "runtime/kv_cache/kv_cache_manager.hpp"
#include "runtime/request.hpp"
#include "runtime/request_state.hpp"
#include "runtime/result.hpp"
#include "runtime/step_batch.hpp"
#include "runtime/stream.hpp"

namespace troupe {

struct scheduler_limits {
  std::int32_t max_num_seqs = 64;
  std::int32_t max_num_batched_tokens = 512;
  std::int32_t max_model_len = 0;
  std::int32_t block_size = 16;
  std::int32_t num_blocks = 0;
  std::size_t max_num_queued_requests = 1024;
  std::vector<token_id> end_tokens = {};  // end of generation, unless ignore_eos
};

// Blocks to give back: `last_step` is the last step that may still write them.
struct block_release {
  request_id id = 0;
  std::uint64_t last_step = 0;
};

// What came of a reservation: either a batch to run, or (batch null, demand set) a smaller demand after
// preemption, or nothing to do. Releases come first in every case.
struct resolved_step {
  std::vector<block_release> releases = {};
  step_batch_ptr batch = {};
  std::optional<step_demand> demand = {};
};

// What came of a step, an abort or an expiry: tokens and ends for the tokenizer, blocks to give back.
struct scheduler_output {
  token_batch events = {};
  std::vector<block_release> releases = {};
};

struct scheduler_counts {
  std::int32_t running = 0;
  std::int32_t waiting = 0;
  std::uint64_t preemptions = 0;
  std::uint64_t prompt_tokens = 0;
  std::uint64_t generation_tokens = 0;
};

// One caller at a time; releases and demands go to the KV cache in the order in which they are given here.
class scheduler {
 public:
  explicit scheduler(scheduler_limits limits);
  ~scheduler();
  scheduler(scheduler&&) noexcept;
  scheduler& operator=(scheduler&&) noexcept;

  // Refuses what can never fit (invalid_argument) and what finds the queue full (resource_exhausted).
  result<void> submit(engine_request request);
  // Ends a request in any state, also while its step runs. Gives its one end event; nothing for an unknown
  // id.
  scheduler_output end(request_id id, finish_reason reason, std::optional<error> failure = {});
  // The tokenizer found a stop string: the request leaves without an event (the tokenizer emits it).
  scheduler_output stopped(request_id id);
  // Ends every request whose deadline has passed.
  scheduler_output expire(steady_time now);
  std::optional<steady_time> next_deadline() const;

  // Nothing while a step is in flight or there is nothing to run.
  std::optional<step_demand> plan();
  resolved_step resolve(const step_reservation& reservation);
  scheduler_output commit(const step_result& result);
  // The step in flight failed: its requests end with error. (Replay on a restarted runner comes with
  // supervision.)
  scheduler_output fail_step(std::uint64_t step, const error& failure);

  bool step_in_flight() const;
  scheduler_counts counts() const;
  // Nothing for an unknown id.
  std::optional<request_state> describe(request_id id) const;

 private:
  struct state;
  std::unique_ptr<state> state_;
};

}  // namespace troupe
