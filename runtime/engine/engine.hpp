// The whole engine on the caller's thread: scheduler, KV cache, executor. No actors, no text. For embedding
// without actors, offline measurement and tests; the actors drive the same parts by messages.
#pragma once
#include <memory>
#include <optional>
#include <vector>

#include "runtime/executor/executor.hpp"
#include "runtime/executor/token_feed.hpp"
#include "runtime/grammar/grammar_sessions.hpp"
#include "runtime/grammar/specification/grammar_cache.hpp"
#include "runtime/kv_cache/kv_cache_manager.hpp"
#include "runtime/scheduler/scheduler.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

// What requests with a grammar need.
struct engine_grammars {
  grammar::token_trie_ptr vocabulary = {};  // null: such requests are refused
  grammar::grammar_limits limits = {};
  tokenizer_ptr spells_forced =
      {};  // what leaves no choice is not sampled: see grammar_sessions; null: it is
  std::uint64_t mask_steps_per_step = grammar::usual_mask_steps_per_step;  // see there, too
  std::shared_ptr<grammar::grammar_cache> cache = std::make_shared<grammar::grammar_cache>();
};

class engine {
 public:
  // num_blocks and block_size of `limits` are taken from the executor.
  engine(std::unique_ptr<executor> device, scheduler_limits limits, engine_grammars grammars = {});

  // A grammar is compiled here and now. Errors: invalid_argument (can never fit, a grammar is refused),
  // resource_exhausted (the queue is full), internal (an id that runs). Gives the ends of those who gave way
  // for it in a full queue.
  result<token_batch> submit(engine_request request);
  token_batch abort(request_id id);
  // Ends who is past its deadline, or has waited past its queue deadline. Deadlines bind only those who call
  // this.
  token_batch expire(steady_time now);
  // Plans as many steps as may be in flight, runs the oldest and commits it: its tokens and ends. May be
  // empty, also while there is more to do: a chunk of a prompt gives no token. After a step
  // in which the executor threw all requests are computed again; one with which alone it throws ends with
  // error. Valid until the next call.
  const token_batch& step();
  bool idle() const;  // nothing running, nothing waiting, no step in flight
  std::optional<request_state> describe(request_id id) const { return scheduler_.describe(id); }
  // False where sequences hold blocks.
  bool reset_prefix_cache() { return kv_cache_.reset_prefix_cache(); }

  // The parts of step(), for those who time them.
  // Plans and reserves one step; false where there is none to plan.
  bool dispatch();
  // Runs the oldest step that was dispatched; false where there is none.
  bool execute();
  // Of the step that execute() ran; only after an execute() that gave true.
  const token_batch& commit();

  const kv_cache_manager& kv_cache() const { return kv_cache_; }
  const class scheduler& scheduler() const { return scheduler_; }
  executor& device() { return *device_; }

 private:
  result<grammar::compiled_grammar_ptr> compile(const engine_request& request);
  void run(const step_batch& batch);
  void give_back(const std::vector<block_release>& releases);
  void settle();
  const token_batch& replay();
  std::unique_ptr<executor> device_;
  engine_grammars grammars_;
  grammar::grammar_sessions sessions_;
  class scheduler scheduler_;
  kv_cache_manager kv_cache_;
  std::vector<step_batch_ptr> dispatched_;  // oldest first
  token_feed feed_;
  step_reservation reservation_;
  step_result result_;
  bool failed_ = false;  // the step that execute() ran
  scheduler_output output_;
};

}  // namespace troupe
