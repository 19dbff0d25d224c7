// Choices, regular expressions and structural tags as grammars.
#include <gtest/gtest.h>

#include "runtime/grammar/notations/choice.hpp"
#include "runtime/grammar/notations/structural_tag.hpp"
#include "runtime/grammar/regex/regex_grammar.hpp"
#include "tests/runtime/grammar/byte_matcher_fixture.hpp"

namespace troupe::grammar {
namespace {

using test::accepts;
using test::compiled;

TEST(choice, any_of_the_texts_and_nothing_else) {
  const std::vector<std::string> choices{"yes", "no", "yes, but", "", "yes"};
  const auto grammar = compiled(choice_grammar(choices, {}));
  for (const std::string& choice : choices) EXPECT_EQ(accepts(grammar, choice), true) << choice;
  for (const std::string_view other : {"ye", "yes,", "noo", "yes, but "})
    EXPECT_EQ(accepts(grammar, other), false) << other;
  EXPECT_EQ(choice_grammar({}, {}).error().code, error_code::invalid_argument);
}

TEST(choice, a_million_texts_are_refused_and_many_are_served) {
  std::vector<std::string> choices;
  for (int i = 0; i < 1'000'000; ++i) choices.push_back("entry " + std::to_string(i));
  EXPECT_EQ(choice_grammar(choices, {}).error().code, error_code::too_large);
  choices.resize(50'000);
  const auto grammar = compiled(choice_grammar(choices, {}));
  EXPECT_EQ(accepts(grammar, "entry 49999"), true);
  EXPECT_EQ(accepts(grammar, "entry 50000"), false);
}

TEST(regex_grammar, the_whole_text_must_match) {
  const auto grammar = compiled(regex_grammar("[a-z]+@[a-z]+\\.(com|org)", {}));
  EXPECT_EQ(accepts(grammar, "me@there.org"), true);
  EXPECT_EQ(accepts(grammar, "me@there.orgy"), false);
  EXPECT_EQ(accepts(grammar, "me@there"), false);
  EXPECT_EQ(regex_grammar("(a", {}).error().code, error_code::invalid_argument);
}

// <f> holds digits, <g> holds letters; a trigger is "<" or as given.
compiled_grammar_ptr tags(std::vector<std::string> triggers, bool at_least_one = false, bool stop = false) {
  grammar_builder builder;
  const symbol_id digits =
      builder.lexeme(builder.regex().plus(builder.regex().bytes(byte_set::range('0', '9'))));
  const symbol_id letters =
      builder.lexeme(builder.regex().plus(builder.regex().bytes(byte_set::range('a', 'z'))));
  structural_tags spec;
  spec.tags = {{"<f>", digits, "</f>"}, {"<g>", letters, ""}};
  spec.triggers = std::move(triggers);
  spec.at_least_one = at_least_one;
  spec.stop_after_first = stop;
  const auto start = structural_tag_symbol(builder, spec);
  EXPECT_TRUE(start.has_value()) << start.error().message;
  if (!start) return nullptr;
  builder.set_start(*start);
  return compiled(std::move(builder));
}

TEST(structural_tag, text_is_free_until_a_trigger_and_after_its_tag) {
  const auto grammar = tags({"<f", "<g"});
  EXPECT_EQ(accepts(grammar, ""), true);
  EXPECT_EQ(accepts(grammar, "free <text> < g> \xC3\xA9"), true);
  EXPECT_EQ(accepts(grammar, "call <f>12</f> and <<g>ab 1<f>3</f>"), true);
  EXPECT_EQ(accepts(grammar, "call <f>12"), false);
  EXPECT_EQ(accepts(grammar, "call <f>x"), false);
  EXPECT_EQ(accepts(grammar, "call <f "), false);
  EXPECT_EQ(accepts(grammar, "call <f <f>1</f>"), false);
  EXPECT_EQ(accepts(grammar, "call <f>1</f><g"), false);
  EXPECT_EQ(accepts(grammar, "half \xC3"), false);
}

TEST(structural_tag, a_trigger_that_starts_several_tags_leaves_the_choice) {
  const auto grammar = tags({"<"});
  EXPECT_EQ(accepts(grammar, "a<f>1</f>b<g>z"), true);
  EXPECT_EQ(accepts(grammar, "a<h>"), false);
  EXPECT_EQ(accepts(grammar, "a < b"), false);
}

TEST(structural_tag, one_may_be_due_and_the_first_may_be_the_last) {
  const auto due = tags({"<"}, true);
  EXPECT_EQ(accepts(due, "none"), false);
  EXPECT_EQ(accepts(due, "one <g>a."), true);
  const auto last = tags({"<"}, true, true);
  EXPECT_EQ(accepts(last, "one <f>1</f>"), true);
  EXPECT_EQ(accepts(last, "one <f>1</f>."), false);
}

TEST(structural_tag, tags_and_triggers_must_agree) {
  grammar_builder builder;
  const symbol_id content = builder.literal("x");
  const auto code_of = [&](structural_tags spec) {
    const auto r = structural_tag_symbol(builder, spec);
    return r ? std::optional<error_code>() : r.error().code;
  };
  EXPECT_EQ(code_of({{{"<a>", content, ""}}, {"<a"}}), std::nullopt);
  EXPECT_EQ(code_of({{{"<a>", content, ""}}, {}}), error_code::invalid_argument);
  EXPECT_EQ(code_of({{{"<a>", content, ""}}, {"<a", ""}}), error_code::invalid_argument);
  EXPECT_EQ(code_of({{{"<a>", content, ""}}, {"<a", "<b"}}), error_code::invalid_argument);
  EXPECT_EQ(code_of({{{"<a>", content, ""}, {"[b]", content, ""}}, {"<a"}}), error_code::invalid_argument);
}

}  // namespace
}  // namespace troupe::grammar
