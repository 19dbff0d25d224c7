#include "actors/grammars/grammar_compiler.hpp"

#include <spdlog/spdlog.h>

#include <chrono>
#include <exception>
#include <utility>

#include "actors/messaging/measured.hpp"
#include "actors/net/sockets/abandonable_work.hpp"
#include "actors/net/sockets/thread_priority.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"

namespace troupe {

// With a thread of its own it gets the vocabulary ready at once, in the time that nobody else wants.
void grammar_compiler_state::start(grammar_compiler_parts parts) try {
  parts_ = std::move(parts);
  if (!parts_.lowest_priority) return;
  if (!use_lowest_priority())
    spdlog::warn("grammars are compiled at normal priority: the system allows no lower one");
  const abandonable_work in_progress;
  parts_.vocabulary->get();
} catch (const std::exception& fault) {
  spdlog::error("the vocabulary could not be got ready for grammars: {}", fault.what());
}

caf::result<msg::grammar_compiled, compile_outcome_ptr> grammar_compiler_state::compile(
    const grammar_spec& spec) {
  const auto begin = std::chrono::steady_clock::now();
  auto outcome = std::make_shared<const result<grammar::compiled_grammar_ptr>>(outcome_of(spec));
  const std::chrono::nanoseconds took = std::chrono::steady_clock::now() - begin;
  return {msg::grammar_compiled{took.count()}, compile_outcome_ptr(std::move(outcome))};
}

result<grammar::compiled_grammar_ptr> grammar_compiler_state::outcome_of(const grammar_spec& spec) try {
  const abandonable_work in_progress;
  return grammar::compile(spec, parts_.vocabulary->get(), parts_.limits);
} catch (const std::exception& fault) {
  faults_.error(std::chrono::steady_clock::now(), "a grammar could not be compiled", fault);
  return fail(error_code::internal, "the grammar could not be compiled");
}

grammar_compiler_actor::behavior_type grammar_compiler_behavior(
    grammar_compiler_actor::stateful_pointer<grammar_compiler_state> self, grammar_compiler_parts parts) {
  const auto metrics = parts.metrics;
  self->state.start(std::move(parts));
  return measured(
      self, metrics,
      [self](const msg::compile_grammar&, const grammar_spec_ptr& spec) {
        return self->state.compile(*spec);
      },
      [](const msg::take_stock&) {});
}

}  // namespace troupe
