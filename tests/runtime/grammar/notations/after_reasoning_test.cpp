// Grammars that begin behind what a model thinks first.
#include "runtime/grammar/notations/after_reasoning.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/grammar/specification/compile_spec.hpp"
#include "runtime/grammar/specification/spec_key.hpp"
#include "tests/runtime/grammar/byte_matcher_fixture.hpp"

namespace troupe::grammar {
namespace {

using test::accepts;
using test::expect_accepted;

compiled_grammar_ptr compiled(grammar_spec spec, reasoning_start reasoning) {
  spec.reasoning = reasoning;
  return test::compiled(build_grammar(spec, {}));
}

const grammar_spec yes_or_no{.kind = grammar_kind::choice, .choices = {"yes", "no"}};

TEST(after_reasoning, the_answer_is_held_to_it_and_the_reasoning_is_free) {
  const auto begun = compiled(yes_or_no, reasoning_start::begun);
  expect_accepted(
      begun,
      {"</think>yes", "Is it? </thin\n</think>\n\nno", "<think> yes {\"a\" </think> yes", "é</think>no"},
      true);
  expect_accepted(begun,
                  {"", "yes", "Is it?", "</think>", "</think>maybe", "a</think>b</think>yes",
                   "\xFF</think>yes", "</think>yes\n", "</think>\n\n\n\n\nyes"},
                  false);
}

TEST(after_reasoning, a_model_that_may_think_may_answer_at_once) {
  const auto possible = compiled(yes_or_no, reasoning_start::possible);
  expect_accepted(possible, {"yes", "<think>Is it?</think>no", "\n<think>\n</think>\n\nyes"}, true);
  expect_accepted(possible, {"", "<think>", "Is it?</think>no", "<think>Is it?", "<think>yes", "\nyes"},
                  false);
  expect_accepted(compiled(yes_or_no, reasoning_start::none), {"<think></think>yes"}, false);
}

TEST(after_reasoning, every_kind_of_grammar_may_stand_behind_it) {
  const std::string calls =
      R"({"tools":[{"function":{"name":"f","parameters":{"type":"object","additionalProperties":false}}}],"must_call":true})";
  struct sample {
    grammar_spec spec;
    std::string text;
  };
  const std::vector<sample> samples{
      {{.kind = grammar_kind::json_schema, .text = R"({"type":"integer"})"}, " 17"},
      {{.kind = grammar_kind::json_object}, R"({"a": 1})"},
      {{.kind = grammar_kind::regex, .text = "[0-9]+"}, "17"},
      {{.kind = grammar_kind::grammar, .text = "root ::= \"a\"+"}, "aa"},
      {{.kind = grammar_kind::grammar, .text = "start: A+\nA: \"a\"\n%ignore \" \""}, "a a"},
      {{.kind = grammar_kind::tool_calls, .text = calls},
       "<tool_call>\n{\"name\": \"f\", \"arguments\": {}}\n</tool_call>"},
  };
  for (const sample& each : samples) {
    EXPECT_EQ(accepts(compiled(each.spec, reasoning_start::begun), "{\"}</think>\n" + each.text), true)
        << each.text;
    EXPECT_EQ(accepts(compiled(each.spec, reasoning_start::begun), "</think>" + each.text + "x"), false)
        << each.text;
    EXPECT_EQ(accepts(compiled(each.spec, reasoning_start::begun), each.text), false) << each.text;
    EXPECT_EQ(accepts(compiled(each.spec, reasoning_start::possible), each.text), true) << each.text;
  }
}

// What is thought is no JSON: its quotes and braces open nothing.
TEST(after_reasoning, names_of_the_answer_are_kept_apart) {
  for (const auto start : {reasoning_start::begun, reasoning_start::possible}) {
    const auto grammar = compiled({.kind = grammar_kind::json_object}, start);
    const std::string thought = "<think> {\"a\": \"</thin\", \"a\": [ </think>";
    expect_accepted(grammar, {thought + R"({"a":1,"b":2})", thought + R"({"a":{"a":1}})"}, true);
    expect_accepted(grammar, {thought + R"({"a":1,"a":2})", thought + R"({"b":{"a":1,"a":2}})"}, false);
  }
  const auto at_once = compiled({.kind = grammar_kind::json_object}, reasoning_start::possible);
  expect_accepted(at_once, {R"( {"a":1,"b":2})", R"({"<think>":"</think>"})"}, true);
  expect_accepted(at_once, {R"({"a":1,"a":2})", R"({"<think>":1,"a":1,"a":2})"}, false);
}

TEST(after_reasoning, is_another_grammar_to_whoever_keeps_them) {
  const auto spec = std::make_shared<const grammar_spec>(yes_or_no);
  EXPECT_EQ(after_reasoning(spec, reasoning_start::none), spec);
  EXPECT_EQ(after_reasoning(nullptr, reasoning_start::begun), nullptr);
  const spec_key plain(spec), begun(after_reasoning(spec, reasoning_start::begun)),
      possible(after_reasoning(spec, reasoning_start::possible));
  EXPECT_FALSE(plain == begun || plain == possible || begun == possible);
  EXPECT_NE(plain.hash(), begun.hash());
  EXPECT_NE(possible.hash(), begun.hash());
}

}  // namespace
}  // namespace troupe::grammar
