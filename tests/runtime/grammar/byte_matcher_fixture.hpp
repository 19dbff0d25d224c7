// Whole texts against a grammar, byte by byte.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/matcher.hpp"

namespace troupe::grammar::test {

// Whether the text belongs to the grammar; nothing, with a failed expectation, when something was exceeded.
std::optional<bool> accepts(const compiled_grammar_ptr& grammar, std::string_view text);

// All of the texts belong to the grammar; none of them does where not `accepted`.
void expect_accepted(const compiled_grammar_ptr& grammar, const std::vector<std::string>& texts,
                     bool accepted);

// A grammar of bytes that must compile.
compiled_grammar_ptr compiled(result<grammar_builder> builder);

// Each of 6,400 members at most once, in any order: a first mask of more than 60,000 steps.
symbol_id many_members(grammar_builder& builder);

}  // namespace troupe::grammar::test
