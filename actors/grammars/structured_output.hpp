// The actor that holds requests to their grammars: has them compiled, and fills the masks of every step while
// its forward pass runs.
#pragma once
#include <array>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "actors/grammars/grammar_options.hpp"
#include "actors/interfaces.hpp"
#include "actors/messaging/outbox.hpp"
#include "metrics/engine_metrics.hpp"
#include "runtime/grammar/grammar_sessions.hpp"
#include "runtime/grammar/mask_team.hpp"
#include "runtime/grammar/specification/compile_queue.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

struct structured_output_parts {
  grammar_options grammars;
  tokenizer_ptr vocabulary;
  std::shared_ptr<metrics::engine_metrics> metrics;
};

class structured_output_state {
 public:
  static inline const char* name = "structured_output";
  explicit structured_output_state(structured_output_actor::base* self) : self_(self), out_(self) {}

  void start(structured_output_parts parts);
  void meet(const company_roster& roster);
  caf::result<msg::grammar_opened, error_ptr> open(const msg::open_grammar& request,
                                                   const grammar_spec_ptr& spec);
  void release(const std::vector<request_id>& ids);
  drafts_ptr filter(const std::vector<held_draft>& drafts);
  void fill_masks(const step_batch& batch);
  msg::masks_prepared prepare_masks(const std::vector<request_id>& ids);
  msg::structured_output_counts count() const { return {sessions_.size(), queue_->num_waiting()}; }
  // Whether it may still have a grammar compiled there.
  bool knows(const grammar_compiler_actor& compiler) const {
    return compiler == compilers_.quick || compiler == compilers_.patient;
  }
  void take_stock(const msg::take_stock& stock) {
    if (stock.is_for_all) out_.take_stock();
  }

 private:
  using opened_promise = caf::typed_response_promise<msg::grammar_opened, error_ptr>;

  void compile_next();
  void compile_next(grammar::compile_lane lane, grammar_compiler_actor& compiler);
  void on_compiled(grammar::compile_lane lane, const msg::grammar_compiled& took,
                   const result<grammar::compiled_grammar_ptr>& outcome);
  // What is with a compiler that is gone will never be answered.
  void miss_lost(grammar::compile_lane lane, const grammar_compiler_actor& now);
  // Opens the request's session, or refuses it.
  error_ptr take_in(request_id id, const result<grammar::compiled_grammar_ptr>& outcome);
  // Fills what can be filled, sends off what is complete.
  void go_on();
  void refuse_overruns();
  void send_off(step_masks_ptr masks);
  // Whether the grammars are within their memory now.
  bool trim();
  void report();

  structured_output_actor::base* self_;
  outbox<structured_output_actor::base> out_;
  structured_output_parts parts_;
  grammar_compilers compilers_;  // null: one has ended, and no other is there yet
  model_runner_actor model_runner_;
  std::unique_ptr<grammar::compile_queue> queue_;
  grammar::grammar_sessions sessions_;
  std::unique_ptr<grammar::mask_team> team_;
  std::array<grammar_compiler_actor, 2> asked_;  // [compile_lane]: who compiles for it; null: nobody
  std::unordered_map<request_id, opened_promise> promises_;  // of the requests that wait
  grammar::grammar_cache::counts reported_;
};

structured_output_actor::behavior_type structured_output_behavior(
    structured_output_actor::stateful_pointer<structured_output_state> self, structured_output_parts parts);

}  // namespace troupe
