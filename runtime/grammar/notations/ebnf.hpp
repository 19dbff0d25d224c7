// Grammars as text, in the two forms that clients send.
//
// GBNF (llama.cpp): `root ::= "yes" | [a-z]+ item{2,5}`, start "root", every character counts.
// Lark, as vLLM takes it: `start: "if" NAME`, terminals in capitals, /regular expressions/ in Rust's syntax,
// ranges, repeats `~2..5`, %ignore, %import common.X, start "start". What is ignored may stand before every
// terminal and at the end; a terminal is not cut at its longest match: a text belongs to the grammar when it
// can be cut somehow.
#pragma once
#include <string_view>

#include "runtime/grammar/grammar_builder.hpp"

namespace troupe::grammar {

// By the form it has: GBNF where the first rule is written with "::="; a byte order mark before it is none of
// the text. Errors: invalid_argument with the line; unsupported, naming the construct; too_large.
result<grammar_builder> ebnf_grammar(std::string_view text, const grammar_limits& limits);

result<grammar_builder> gbnf_grammar(std::string_view text, const grammar_limits& limits);
result<grammar_builder> lark_grammar(std::string_view text, const grammar_limits& limits);

}  // namespace troupe::grammar
