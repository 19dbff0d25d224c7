// A grammar made ready for one vocabulary, shared by all requests that ask for it.
#pragma once
#include <cstddef>
#include <memory>
#include <mutex>

#include "runtime/grammar/automaton.hpp"
#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/token_trie.hpp"
#include "runtime/result.hpp"

namespace troupe::grammar {

// Its meaning never changes; what matchers work out is remembered inside, under a lock, for all of them.
class compiled_grammar {
 public:
  explicit compiled_grammar(grammar_plan plan);

  const token_trie& vocabulary() const { return *plan_.vocabulary; }
  const grammar_limits& limits() const { return plan_.limits; }
  // What is held now: grows while the grammar is used, to about limits().max_memory_bytes.
  std::size_t memory_bytes() const;
  automaton::counts count() const;

  // The automaton that new matchers use; a fresh one once the last is worn. A matcher that still uses the
  // worn one keeps it alive.
  std::shared_ptr<automaton> current() const;

 private:
  grammar_plan plan_;
  mutable std::mutex mutex_;
  mutable std::shared_ptr<automaton> current_;
};
using compiled_grammar_ptr = std::shared_ptr<const compiled_grammar>;

// Takes the builder's grammar as it stands, in time and space linear in its size: item sets, lexer states and
// masks are made when a matcher first needs them. Errors: what the builder failed with; invalid_argument for
// a grammar that no text belongs to, has no start or an undefined symbol; too_large, naming the limit.
result<compiled_grammar_ptr> compile(grammar_builder builder, token_trie_ptr vocabulary);

}  // namespace troupe::grammar
