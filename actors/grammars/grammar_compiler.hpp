// The actor that compiles grammars, one for each lane of the compile_queue. Whoever spawns it decides whether
// it has a thread of its own, which then has the lowest priority: a busy thread beside the compute team would
// double the time of a step.
#pragma once
#include <memory>

#include "actors/interfaces.hpp"
#include "actors/net/telemetry/limited_log.hpp"
#include "metrics/engine_metrics.hpp"
#include "runtime/grammar/lazy_token_trie.hpp"
#include "runtime/grammar/limits.hpp"

namespace troupe {

struct grammar_compiler_parts {
  std::shared_ptr<grammar::lazy_token_trie> vocabulary;  // shared by all compilers
  grammar::grammar_limits limits;
  bool lowest_priority = false;  // for the thread that it has to itself
  std::shared_ptr<metrics::engine_metrics> metrics;
};

class grammar_compiler_state {
 public:
  static inline const char* name = "grammar_compiler";

  void start(grammar_compiler_parts parts);
  caf::result<msg::grammar_compiled, compile_outcome_ptr> compile(const grammar_spec& spec);

 private:
  result<grammar::compiled_grammar_ptr> outcome_of(const grammar_spec& spec);

  grammar_compiler_parts parts_;
  net::limited_log faults_;
};

grammar_compiler_actor::behavior_type grammar_compiler_behavior(
    grammar_compiler_actor::stateful_pointer<grammar_compiler_state> self, grammar_compiler_parts parts);

}  // namespace troupe
