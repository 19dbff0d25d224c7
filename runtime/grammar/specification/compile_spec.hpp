// From what a client gave to a grammar that requests can be held to.
#pragma once
#include <string>

#include "runtime/grammar/compiled_grammar.hpp"
#include "runtime/grammar/json_schema/options.hpp"
#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/specification/grammar_spec.hpp"
#include "runtime/grammar/token_trie.hpp"

namespace troupe::grammar {

// What asks for the JSON texts of a schema's values.
grammar_spec schema_spec(std::string schema, const json_schema::schema_options& options);

// The text must not be longer than limits.max_source_bytes. Errors: invalid_argument.
result<void> check_size(const grammar_spec& spec, const grammar_limits& limits);

// The rules, by the front end of the kind, behind what the model thinks first. Errors: the front end's.
result<grammar_builder> build_grammar(const grammar_spec& spec, const grammar_limits& limits);

// Errors: invalid_argument whatever is wrong with the specification; the message names the limit that it
// passes or the JSON pointer of the word that cannot be enforced, `param` is that name or pointer.
result<compiled_grammar_ptr> compile(const grammar_spec& spec, token_trie_ptr vocabulary,
                                     const grammar_limits& limits);

// Whether compile() ended for limits.max_compile_steps alone: with more of them it may have gone on.
bool ran_out_of_steps(const result<compiled_grammar_ptr>& outcome);

}  // namespace troupe::grammar
