#include "runtime/grammar/compiled_grammar.hpp"

#include <algorithm>
#include <utility>

namespace troupe::grammar {

namespace {

constexpr std::size_t bytes_per_regex_node = 64;  // about: with its links and its place in the index

}  // namespace

compiled_grammar::compiled_grammar(grammar_plan plan) : plan_(std::move(plan)) {
  plan_.regex.end_building(
      std::max(plan_.regex.size(), plan_.limits.max_memory_bytes / bytes_per_regex_node));
  plan_bytes_ = plan_.regex.memory_bytes() + plan_.rules.memory_bytes();
  renew();
  measure();
}

compiled_grammar::~compiled_grammar() {
  if (account_) account_->change(memory_bytes(), 0);
}

void compiled_grammar::measure() const {
  const std::size_t now = plan_bytes_ + (automaton_ ? automaton_->memory_bytes() : 0);
  const std::size_t before = bytes_.exchange(now, std::memory_order_relaxed);
  if (account_ && now != before) account_->change(before, now);
}

void compiled_grammar::count_in(std::shared_ptr<memory_account> account) const {
  const std::lock_guard held(mutex_);
  account_ = std::move(account);
  account_->change(0, memory_bytes());
}

compiled_grammar::access::~access() {
  if (!held_.owns_lock()) return;
  if (steps_left_ != nullptr) *steps_left_ -= std::min(*steps_left_, grammar_->automaton_->steps());
  grammar_->measure();
}

void compiled_grammar::renew() const {
  automaton_ = std::make_unique<automaton>(plan_);
  ++generation_;
}

compiled_grammar::access compiled_grammar::use(std::uint64_t& steps_left, bool goes_on) const {
  access allowed(*this);
  allowed.is_fresh_ = !automaton_ || (goes_on ? automaton_->is_spoiled() : automaton_->is_worn());
  if (allowed.is_fresh_) renew();
  automaton_->begin(steps_left);
  allowed.steps_left_ = &steps_left;
  return allowed;
}

void compiled_grammar::let_go() const {
  const std::lock_guard held(mutex_);
  automaton_.reset();
  measure();
}

automaton::counts compiled_grammar::count() const {
  const std::lock_guard held(mutex_);
  return automaton_ ? automaton_->count() : automaton::counts{};
}

result<compiled_grammar_ptr> compile(grammar_builder builder, token_trie_ptr vocabulary) {
  step_budget budget(builder.limits().max_compile_steps);
  auto rules = make_rule_table(builder, budget);
  if (!rules) return tl::unexpected(rules.error());
  return std::make_shared<const compiled_grammar>(
      grammar_plan{std::move(*rules), std::move(builder.regex()), std::move(vocabulary), builder.limits(),
                   builder.keeps_names_apart(), builder.reasoning()});
}

}  // namespace troupe::grammar
