// The actor that owns the request table and drives the step loop:
//   plan -> reserve_step -> resolve (again after a preemption) -> run_step -> plan ... commit -> plan.
// Where drafts are worth it, the drafter is asked between commit and plan, and then structured_output which
// of their tokens the grammars have.
// While a step is with the runner the next ones are planned and sent after it, as many as may be in flight.
#pragma once
#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "actors/company_board.hpp"
#include "actors/interfaces.hpp"
#include "actors/messaging/outbox.hpp"
#include "metrics/engine_metrics.hpp"
#include "runtime/armed_timers.hpp"
#include "runtime/drafting/draft_patience.hpp"
#include "runtime/drafting/gathered_news.hpp"
#include "runtime/scheduler/scheduler.hpp"

namespace troupe {

struct scheduler_parts {
  scheduler_limits limits;
  std::shared_ptr<company_board> board;
  std::shared_ptr<metrics::engine_metrics> metrics;
};

class scheduler_state {
 public:
  static inline const char* name = "scheduler";
  explicit scheduler_state(scheduler_actor::base* self) : self_(self), out_(self) {}

  void start(scheduler_parts parts);
  void meet(const company_roster& roster);
  msg::runner_missed runner_lost(const msg::runner_lost& lost);
  void submit(const engine_request_ptr& request);
  void abort(request_id id);
  void stopped(const std::vector<request_id>& ids);
  void expire();
  void drafts_due();
  void describe(request_id id, describe_call& call) const { call.reply(scheduler_->describe(id)); }
  void note_step_cost(const msg::step_cost& cost);
  void forget_step_costs() { scheduler_->forget_step_costs(); }
  void reload(const scheduler_limits& limits);
  msg::request_counts count() const;
  void take_stock(const msg::take_stock& stock);
  // Messages of this sender were lost: asks for them. A scheduler that ended would take every request along.
  void make_up_for(const caf::strong_actor_ptr& sender, msg::message_number first, std::uint64_t count);
  void end_all_but(const std::vector<request_id>& open);

 private:
  // What is awaited before the next plan.
  enum class phase { idle, drafting, reserving };
  // A step with the runner.
  struct running_step {
    std::uint64_t step = 0;
    std::int32_t rows = 0;
    std::int64_t work = 0;  // for its deadline
    steady_time began{};
    std::vector<msg::first_step> scheduled;  // whose first step it is
  };
  // What a request has asked for whose grammar is not there yet: for the next structured_output.
  struct wanted_grammar {
    grammar_spec_ptr spec;
    std::string tenant = {};
  };
  // How long a request has waited for its grammar.
  struct grammar_wait {
    steady_time since{};
    std::optional<std::chrono::nanoseconds> waited = {};  // once it is there
  };

  // What the drafter was asked last.
  struct draft_question {
    std::uint64_t number = 0;
    bool is_open = false;  // nobody has answered
    int stocks = 0;        // taken since then
    steady_time due{};     // later than that an answer is late: no step waits for it
    armed_timers timers = {};
  };

  // What structured_output was asked last about masks that take long.
  struct mask_question {
    std::uint64_t number = 0;
    bool is_open = false;  // nobody has answered
    int stocks = 0;        // taken since then
  };

  // scheduler_recovery.cpp
  // Whether the message in hand is of the tokenizer that hears of this request. Not so where a roster was
  // lost.
  bool knows_sender(request_id id) const;
  // Where it owes an answer, it cannot be trusted with its blocks: it ends, and the supervisor introduces
  // another one.
  void replace_kv_cache();
  void tell_first_steps(const running_step& of);
  void meet_tokenizers(const tokenizer_pool& tokenizers);
  void meet_structured_output(const structured_output_actor& structured_output);
  void meet_kv_cache(const kv_cache_actor& kv_cache);
  void tell_requests();
  // Everything is computed again, once no step is in flight.
  void lose_storage(blame whose);
  // Those of the step that the device had no memory for, and others: whether they can be smaller.
  bool runs_smaller_steps();
  void end_all(const std::vector<request_id>& ids, finish_reason reason, const std::optional<error>& failure);

  // scheduler_drafts.cpp
  void open_drafts(const engine_request_ptr& request);
  void note_news(const token_batch& events);
  // Behind a step: asks the drafter where its answer would be of use, and tells it what may not wait.
  void ask_drafter();
  // Tells it all that it has not heard.
  void tell_drafter();
  void ask_for_drafts(bool waits);
  void on_drafts(std::uint64_t question, const std::vector<draft>& drafts);
  // Proposes these, too, plans with what has been proposed, and waits for no more.
  void end_drafting(std::uint64_t question, const std::vector<draft>& possible);
  void arm_drafts_timer();
  // Takes no answer to what was asked last, so that another question may be asked. Whoever calls it plans.
  void forget_drafts();
  void report_drafts(const draft_counts& now);

  // scheduler_grammars.cpp
  void open_grammar(const engine_request& request);
  void ask_for_grammar(request_id id, const wanted_grammar& wanted);
  void on_grammar_opened(request_id id, const error* refusal);
  // Tells structured_output which of the ended requests had a grammar.
  void release_grammars(std::vector<request_id> ended);
  std::chrono::nanoseconds waited_for_grammar(request_id id) const;
  void ask_for_masks();
  void on_masks_prepared(const std::vector<request_id>& ids);

  // scheduler.cpp
  // Of a tokenizer that this one was not told of.
  void refuse_stranger(const engine_request& request);
  void plan();
  void reserve(step_demand_ptr demand);
  void on_reservation(const step_reservation& reservation);
  void run(step_batch_ptr batch);
  void on_step_done(const msg::step_done& done, const step_result& result);
  // The oldest step is over; the next one, if any, begins now.
  running_step take_oldest();

  void settle_step(const running_step& ended);
  // Ends and releases between steps; what changed may make room for a plan.
  void settle(scheduler_output output);
  void deliver(const running_step& step, token_batch& events);
  // Of the step that runs: whose first it is, of those that end before it does.
  running_step begun_by(const token_batch& ends) const;
  std::vector<msg::first_step> first_scheduled(const step_batch& batch);
  void arm_timer();
  void report();
  steady_time now() const { return self_->clock().now(); }
  // Sends `message` to this actor when it is due, unless one of these timers goes off by then.
  template <class Message>
  void arm(armed_timers& timers, steady_time due, Message message) {
    if (!timers.add(due)) return;
    const auto wait = std::max(due - now(), steady_time::duration::zero());
    self_->delayed_send(scheduler_actor(self_), wait, std::move(message));
  }

  scheduler_actor::base* self_;
  outbox<scheduler_actor::base> out_;
  std::unique_ptr<scheduler> scheduler_;
  kv_cache_actor kv_cache_;
  model_runner_actor model_runner_;
  structured_output_actor structured_output_;
  drafter_actor drafter_;
  tokenizer_pool tokenizers_;
  std::shared_ptr<company_board> board_;
  std::shared_ptr<metrics::engine_metrics> metrics_;
  std::shared_ptr<metrics::actor_pulse> pulse_;  // its own

  phase phase_ = phase::idle;
  int stocks_without_reservation_ = 0;  // taken since kv_cache was asked
  bool is_storage_lost_ = false;        // since the kv_cache that knew of it is gone
  std::int32_t deadly_rows_ = 0;        // of a step that ended its runner; none has come to its end since
  bool has_served_ = true;              // a step has come to its end since a runner was lost
  std::uint64_t num_kv_caches_ = 0;     // that there have been: an answer may be of one that is gone
  bool changed_ = false;  // something came while reserving: an answer of "nothing to run" is out of date
  armed_timers timers_;   // of deadlines
  std::unordered_set<request_id> unscheduled_;
  std::unordered_map<request_id, grammar_wait> with_grammar_;
  std::unordered_map<request_id, wanted_grammar> without_grammar_;  // of these, who still waits for it
  std::deque<running_step> running_;                                // oldest first
  draft_patience draft_patience_;
  draft_question drafts_;
  gathered_news untold_;                     // what the drafter has not heard yet
  std::uint64_t accepted_draft_tokens_ = 0;  // of all steps
  mask_question masks_;
  std::chrono::nanoseconds last_step_took_{};  // from its beginning to its end
  scheduler_output output_;
  steady_time planned_at_{};
  scheduler_counts reported_;
  draft_places reported_places_ = {};
};

scheduler_actor::behavior_type scheduler_behavior(scheduler_actor::stateful_pointer<scheduler_state> self,
                                                  scheduler_parts parts);

}  // namespace troupe
