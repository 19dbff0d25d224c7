// Texts that a regular expression matches from end to end.
#pragma once
#include <string_view>

#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/regex/regex_syntax.hpp"

namespace troupe::grammar {

// Errors: as parse_regex().
result<grammar_builder> regex_grammar(std::string_view pattern, const grammar_limits& limits);

}  // namespace troupe::grammar
