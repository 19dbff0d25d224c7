#include "tests/runtime/grammar/byte_matcher_fixture.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>

namespace troupe::grammar::test {

std::optional<bool> accepts(const compiled_grammar_ptr& grammar, std::string_view text) {
  if (!grammar) return std::nullopt;
  matcher m(grammar);
  for (const char c : text) {
    const auto accepted = m.accept(static_cast<unsigned char>(c));
    if (accepted) continue;
    EXPECT_EQ(accepted.error().code, error_code::invalid_argument) << accepted.error().message;
    if (accepted.error().code != error_code::invalid_argument) return std::nullopt;
    return false;
  }
  const auto ends = m.can_end();
  EXPECT_TRUE(ends.has_value());
  return ends ? std::optional<bool>(*ends) : std::nullopt;
}

void expect_accepted(const compiled_grammar_ptr& grammar, const std::vector<std::string>& texts,
                     bool accepted) {
  for (const std::string& text : texts) EXPECT_EQ(accepts(grammar, text), accepted) << text;
}

compiled_grammar_ptr compiled(result<grammar_builder> builder) {
  EXPECT_TRUE(builder.has_value()) << builder.error().message;
  if (!builder) return nullptr;
  auto grammar = compile(std::move(*builder), byte_token_trie());
  EXPECT_TRUE(grammar.has_value()) << grammar.error().message;
  return grammar ? *grammar : nullptr;
}

symbol_id many_members(grammar_builder& builder) {
  any_order members;
  for (int i = 0; i < 6400; ++i)
    members.members.push_back({builder.literal("m" + std::to_string(i) + ","), false});
  return builder.any_order_of(std::move(members));
}

}  // namespace troupe::grammar::test
