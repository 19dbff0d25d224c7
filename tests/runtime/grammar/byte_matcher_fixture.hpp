// Whole texts against a grammar, byte by byte.
#pragma once
#include <optional>
#include <string>
#include <string_view>

#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/matcher.hpp"

namespace troupe::grammar::test {

// Whether the text belongs to the grammar; nothing, with a failed expectation, when something was exceeded.
std::optional<bool> accepts(const compiled_grammar_ptr& grammar, std::string_view text);

// A grammar of bytes that must compile.
compiled_grammar_ptr compiled(result<grammar_builder> builder);

// Each of 6,400 members at most once, in any order: a first mask of more than 60,000 steps.
symbol_id many_members(grammar_builder& builder);

}  // namespace troupe::grammar::test
