// A grammar made ready for one vocabulary, shared by all requests that ask for it.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>

#include "runtime/grammar/automaton.hpp"
#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/memory_account.hpp"
#include "runtime/grammar/token_trie.hpp"
#include "runtime/result.hpp"

namespace troupe::grammar {

// Its meaning never changes; what matchers work out is remembered inside, under a lock, for all of them.
class compiled_grammar {
 public:
  explicit compiled_grammar(grammar_plan plan);
  ~compiled_grammar();
  compiled_grammar(const compiled_grammar&) = delete;
  compiled_grammar& operator=(const compiled_grammar&) = delete;

  const token_trie& vocabulary() const { return *plan_.vocabulary; }
  const grammar_limits& limits() const { return plan_.limits; }
  // Of a text's members, as grammar_builder says: what an automaton cannot see to.
  bool keeps_names_apart() const { return plan_.keeps_names_apart; }
  // What its texts begin with.
  reasoning_start reasoning() const { return plan_.reasoning; }
  // What is held: grows while the grammar is used, to about limits().max_memory_bytes.
  std::size_t memory_bytes() const { return bytes_.load(std::memory_order_relaxed); }
  automaton::counts count() const;
  // From now on this counts there too. At most once.
  void count_in(std::shared_ptr<memory_account> account) const;

  // The automaton, for the caller alone until this is destroyed.
  class access {
   public:
    access(access&&) = default;
    access& operator=(access&&) = delete;
    ~access();
    automaton* operator->() const { return grammar_->automaton_.get(); }
    automaton& operator*() const { return *grammar_->automaton_; }
    // Another number means another automaton, whose states are others.
    std::uint64_t generation() const { return grammar_->generation_; }
    // Nobody has used it before.
    bool is_fresh() const { return is_fresh_; }

   private:
    friend compiled_grammar;
    explicit access(const compiled_grammar& grammar) : grammar_(&grammar), held_(grammar.mutex_) {}
    const compiled_grammar* grammar_;
    std::uint64_t* steps_left_ = nullptr;  // once there is an automaton that spends of them
    bool is_fresh_ = false;
    std::unique_lock<std::mutex> held_;
  };
  // A fresh automaton where the last one is worn or was let go. It spends of `steps_left`, from which is
  // taken, when the access is given back, what was spent since the automaton's last begin().
  // `goes_on`: with the mask of the last use, so that even a worn one is kept, since all of its work may be
  // that mask's.
  access use(std::uint64_t& steps_left, bool goes_on = false) const;
  // Of all that was worked out. Who uses it then works it out again.
  void let_go() const;

 private:
  // Both under the lock.
  void measure() const;
  void renew() const;

  grammar_plan plan_;
  std::size_t plan_bytes_ = 0;
  mutable std::mutex mutex_;
  mutable std::unique_ptr<automaton> automaton_;
  mutable std::uint64_t generation_ = 0;
  mutable std::atomic<std::size_t> bytes_{0};
  mutable std::shared_ptr<memory_account> account_;
};
using compiled_grammar_ptr = std::shared_ptr<const compiled_grammar>;

// Takes the builder's grammar as it stands, in time and space linear in its size: item sets, lexer states and
// masks are made when a matcher first needs them. Errors: what the builder failed with; invalid_argument for
// a grammar that no text belongs to, has no start or an undefined symbol; too_large, naming the limit.
result<compiled_grammar_ptr> compile(grammar_builder builder, token_trie_ptr vocabulary);

}  // namespace troupe::grammar
