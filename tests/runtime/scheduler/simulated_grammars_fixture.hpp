// Grammars for the requests of a simulation, over its vocabulary of one- and two-letter tokens.
#pragma once
#include <vector>

#include "runtime/grammar/compiled_grammar.hpp"
#include "runtime/grammar/specification/grammar_spec.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe {

const std::vector<grammar_spec_ptr>& simulated_grammars();
// One of these, compiled; the end tokens are 3 and 5.
grammar::compiled_grammar_ptr compiled(const grammar_spec_ptr& spec);
// Nothing is known of them any more: the next masks take work.
void forget_simulated_masks();
// How their texts are spelled.
tokenizer_ptr simulated_tokenizer();

}  // namespace troupe
