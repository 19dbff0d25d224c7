#include "runtime/grammar/compiled_grammar.hpp"

#include <algorithm>
#include <utility>

namespace troupe::grammar {

namespace {

constexpr std::size_t bytes_per_regex_node = 64;  // about: with its links and its place in the index

}  // namespace

compiled_grammar::compiled_grammar(grammar_plan plan) : plan_(std::move(plan)) {
  plan_.regex.set_max_nodes(
      std::max(plan_.regex.size(), plan_.limits.max_memory_bytes / bytes_per_regex_node));
  current_ = std::make_shared<automaton>(plan_);
}

std::shared_ptr<automaton> compiled_grammar::current() const {
  const std::lock_guard held(mutex_);
  bool worn = false;
  {
    const auto guard = current_->lock();
    worn = current_->is_worn();
  }
  if (worn) current_ = std::make_shared<automaton>(plan_);
  return current_;
}

automaton::counts compiled_grammar::count() const {
  const std::lock_guard held(mutex_);
  const auto guard = current_->lock();
  return current_->count();
}

std::size_t compiled_grammar::memory_bytes() const {
  return plan_.regex.memory_bytes() + count().memory_bytes;
}

result<compiled_grammar_ptr> compile(grammar_builder builder, token_trie_ptr vocabulary) {
  step_budget budget(builder.limits().max_compile_steps);
  auto rules = make_rule_table(builder, budget);
  if (!rules) return tl::unexpected(rules.error());
  return std::make_shared<const compiled_grammar>(
      grammar_plan{std::move(*rules), std::move(builder.regex()), std::move(vocabulary), builder.limits()});
}

}  // namespace troupe::grammar
