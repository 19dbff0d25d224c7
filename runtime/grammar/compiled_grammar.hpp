// A grammar made ready for one vocabulary, shared by all requests that ask for it.
#pragma once
#include <cstddef>
#include <memory>

#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/token_trie.hpp"
#include "runtime/result.hpp"

namespace troupe::grammar {

// Its meaning never changes; what matchers work out is remembered inside, under a lock, for all of them.
class compiled_grammar;
using compiled_grammar_ptr = std::shared_ptr<const compiled_grammar>;

// Takes the builder's grammar as it stands, and no longer than its size: item sets, lexer states and masks
// are made when a matcher first needs them. Errors: what the builder failed with; invalid_argument for a
// grammar that matches nothing, has no start or an undefined symbol; too_large, naming the limit.
result<compiled_grammar_ptr> compile(grammar_builder builder, token_trie_ptr vocabulary);

}  // namespace troupe::grammar
