// Texts with calls of tools in them.
#include "runtime/grammar/notations/tool_calls.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "runtime/grammar/notations/tool_call_form.hpp"
#include "tests/runtime/grammar/byte_matcher_fixture.hpp"

namespace troupe::grammar {
namespace {

using test::compiled;
using test::expect_accepted;

const std::string two_tools = R"("tools":[
  {"function":{"name":"add","parameters":{"type":"object","properties":{"a":{"type":"integer"}},
    "required":["a"],"additionalProperties":false}}},
  {"function":{"name":"add.all","parameters":{"type":"object","properties":{"of":{"type":"array","items":
    {"type":"string"}}},"required":["of"],"additionalProperties":false}}}])";

compiled_grammar_ptr calls(const std::string& members = "") {
  return compiled(tool_call_grammar("{" + two_tools + members + "}", {}, {}));
}

std::string call(const std::string& name, const std::string& arguments) {
  return "<tool_call>\n{\"name\": \"" + name + "\", \"arguments\": " + arguments + "}\n</tool_call>";
}
const std::string add = call("add", R"({"a": 1})");
const std::string add_all = call("add.all", R"({"of":["}\n</tool_call>"]})");

TEST(tool_calls, text_is_free_and_calls_are_held_to_their_schemas) {
  const auto grammar = calls();
  expect_accepted(grammar,
                  {"", "Hello <b>", "<tool_cal", add, "I add: " + add + " and\n" + add_all + " done"}, true);
  expect_accepted(grammar,
                  {"<tool_call>", "so: <tool_call> is text", call("sub", "{}"), call("add", R"({"a": "1"})"),
                   call("add", "{}"), call("add.all", R"({"a": 1})"), add.substr(0, add.size() - 1)},
                  false);
}

TEST(tool_calls, calls_may_be_due_and_then_nothing_else_is_written) {
  const auto grammar = calls(R"(,"must_call":true)");
  expect_accepted(grammar, {add, add + "\n" + add_all + "\n" + add}, true);
  expect_accepted(grammar, {"", "Hello", "Hello " + add, add + add, add + "\n", add + "\nHello"}, false);
}

TEST(tool_calls, what_cannot_be_enforced_is_left_out_unless_the_tool_is_strict) {
  const auto pick = [](const std::string& parameters, bool strict = false) {
    return tool_call_grammar(R"({"tools":[{"function":{"name":"pick","strict":)" +
                                 std::string(strict ? "true" : "false") + R"(,"parameters":)" + parameters +
                                 R"(}}],"must_call":true})",
                             {.closed_objects = true}, {});
  };
  for (const char* word : {R"("uniqueItems":true)", R"("contains":{"pattern":"(?<=a)b"})"}) {
    const std::string schema =
        R"({"type":"object","properties":{"of":{"type":"array","items":{"type":"string"},)" +
        std::string(word) + R"(},"n":{"type":"integer"}},"required":["of","n"]})";
    const auto grammar = compiled(pick(schema));
    expect_accepted(grammar, {call("pick", R"({"of": ["a","a"], "n": 1})")}, true);
    expect_accepted(grammar,
                    {call("pick", R"({"of": [1], "n": 1})"), call("pick", R"({"of": [], "n": "1"})"),
                     call("pick", R"({"of": [], "n": 1, "m": 1})")},
                    false);
    EXPECT_FALSE(pick(schema, true)) << word;
  }
  for (const char* odd : {R"({"type":"any"})", R"({"$ref":"#/nowhere"})", R"({"pattern":"\\bword\\b"})"})
    expect_accepted(compiled(pick(R"({"type":"object","properties":{"x":)" + std::string(odd) +
                                  R"(},"required":["x"]})")),
                    {call("pick", R"({"x": "y"})")}, true);
  const auto takes = [&](const std::string& x, const std::string& value) {
    expect_accepted(compiled(pick(R"({"type":"object","properties":{"x":)" + x + R"(},"required":["x"]})")),
                    {call("pick", R"({"x": )" + value + "}")}, true);
  };
  const std::string odd_pattern = R"("pattern":"(?<=a)b")";
  takes(R"({"type":"string","not":{)" + odd_pattern + "}}", R"("c")");
  takes(R"({"if":{)" + odd_pattern + R"(},"then":{"const":"b"}})", R"("c")");
  takes(R"({"oneOf":[{"type":"string",)" + odd_pattern + R"(},{"type":"string","maxLength":5}]})", R"("c")");
  takes(R"({"type":"object","properties":{"properties":{"type":"string",)" + odd_pattern + "}}}",
        R"({"properties": "c"})");
  takes(R"({"type":"object","patternProperties":{"(?<=a)b":{"type":"integer"}}})", R"({"b": "c"})");
  EXPECT_FALSE(pick(
      R"({"type":"object","properties":{"x":{"type":"array","minItems":1,"items":{"type":"integer","minimum":2,)"
      R"("maximum":1}}},"required":["x"]})"));
  EXPECT_FALSE(pick(
      R"({"type":"object","properties":{"a":{"minimum":2,"maximum":1,"type":"integer"}},"required":["a"]})"))
      << "no arguments at all are another thing";
}

TEST(tool_calls, one_may_be_all) {
  const auto due = calls(R"(,"must_call":true,"only_once":true)");
  expect_accepted(due, {add, add_all}, true);
  expect_accepted(due, {"", add + "\n" + add}, false);
  const auto may = calls(R"(,"only_once":true)");
  expect_accepted(may, {"", "Hello", "Hello " + add}, true);
  expect_accepted(may, {add + "\n" + add, add + " done"}, false);
}

TEST(tool_calls, one_tool_may_be_the_only_one) {
  const auto grammar = calls(R"(,"allowed":["add.all"],"must_call":true)");
  expect_accepted(grammar, {add_all}, true);
  expect_accepted(grammar, {add}, false);
}

TEST(tool_calls, what_is_no_call_may_be_held_to_a_schema) {
  const auto grammar = calls(R"(,"response":{"type":"object","properties":{"n":{"const":5}},
    "required":["n"],"additionalProperties":false})");
  expect_accepted(grammar, {R"({"n": 5})", add, add + "\n" + add_all}, true);
  expect_accepted(grammar, {"", "Hello", R"({"n": 6})", R"({"n": 5})" + add}, false);
}

TEST(tool_calls, faults_are_told_with_their_place) {
  const auto error_of = [](const std::string& text) {
    const auto builder = tool_call_grammar(text, {}, {});
    EXPECT_FALSE(builder.has_value()) << text;
    return builder ? error{} : builder.error();
  };
  const error refused = error_of(
      R"({"tools":[{"function":{"name":"a","parameters":{}}},
        {"function":{"name":"b","strict":true,"parameters":{"properties":{"x":{"uniqueItems":true,"items":{}}}}}}]})");
  EXPECT_EQ(refused.param, "/tools/1/function/parameters/properties/x/uniqueItems") << refused.message;
  EXPECT_EQ(error_of(R"({"tools":[{"function":{"name":"a","parameters":{}}}],"response":{"type":5}})").param,
            "/type");
  for (const char* text : {"", "[]", "{}", R"({"tools":[]})", R"({"tools":[{}]})",
                           R"({"tools":[{"function":{"name":1,"parameters":{}}}]})"})
    EXPECT_EQ(error_of(text).code, error_code::invalid_argument) << text;
}

}  // namespace
}  // namespace troupe::grammar
