// One of a few given texts.
#pragma once
#include <span>
#include <string>

#include "runtime/grammar/grammar_builder.hpp"

namespace troupe::grammar {

// A grammar whose texts are these; equal ones count once. Errors: invalid_argument for none; too_large past
// limits.max_source_bytes in all.
result<grammar_builder> choice_grammar(std::span<const std::string> choices, const grammar_limits& limits);

}  // namespace troupe::grammar
