// Texts with calls of tools in them.
#include "runtime/grammar/notations/tool_calls.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstdint>
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

// Calls of one tool, "pick", with these parameters.
result<grammar_builder> pick(const std::string& parameters, bool strict = false,
                             const grammar_limits& limits = {}) {
  return tool_call_grammar(R"({"tools":[{"function":{"name":"pick","strict":)" +
                               std::string(strict ? "true" : "false") + R"(,"parameters":)" + parameters +
                               R"(}}],"must_call":true})",
                           {.closed_objects = true}, limits);
}

// Of parameters with one member "c" of this schema, and these definitions.
void expect_values(const std::string& schema, const std::vector<std::string>& values, bool accepted,
                   const std::string& definitions = "{}") {
  const auto grammar = compiled(pick(R"({"type":"object","required":["c"],"properties":{"c":)" + schema +
                                     R"(},"$defs":)" + definitions + "}"));
  for (const std::string& value : values)
    expect_accepted(grammar, {call("pick", R"({"c": )" + value + "}")}, accepted);
}

TEST(tool_calls, what_cannot_be_enforced_is_left_out_unless_the_tool_is_strict) {
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

// A pattern that cannot be enforced, and one that can.
const std::string mail_and_phone = R"({"Mail":{"type":"string","pattern":"\\b[a-z]+@[a-z]+"},
  "Phone":{"type":"string","pattern":"^[0-9]{3}$"},"Deep":{"anyOf":[{"$ref":"#/$defs/Mail"},{"type":"null"}]},
  "Odd":{"type":"string","pattern":"\\b[0-9]+"}})";

// Less of what such a place refers to would be more of what the place denies.
TEST(tool_calls, what_is_left_out_behind_a_reference_never_makes_a_schema_narrower) {
  const auto takes = [](const std::string& schema, const std::vector<std::string>& values) {
    expect_values(schema, values, true, mail_and_phone);
  };
  takes(R"({"oneOf":[{"$ref":"#/$defs/Mail"},{"$ref":"#/$defs/Phone"}]})", {R"("555")", R"("a@b")"});
  takes(R"({"oneOf":[{"$ref":"#/$defs/Mail"},{"$ref":"#/$defs/Odd"}]})", {R"("555")", R"("a@b")"});
  takes(R"({"oneOf":[{"$ref":"#/$defs/Deep"},{"$ref":"#/$defs/Phone"}]})", {R"("555")", "null"});
  takes(R"({"type":"string","not":{"$ref":"#/$defs/Mail"}})", {R"("555")"});
  takes(R"({"type":"string","if":{"$ref":"#/$defs/Mail"},"then":{"minLength":9}})", {R"("555")"});
  takes(R"({"type":"array","contains":{"$ref":"#/$defs/Mail"},"maxContains":1})", {R"(["5","6"])"});
  takes(R"({"properties":{"d":{"type":"string","pattern":"(?<=a)b"},
            "e":{"oneOf":[{"$ref":"#/properties/c/properties/d"},{"type":"string","maxLength":2}]}}})",
        {R"({"e": "x"})"});
  takes(R"({"properties":{"d":{"type":"string","pattern":"(?<=a)b"},"e":{"not":{"$ref":"#/properties/c"}}}})",
        {R"({"e": {"d": "c"}})"});
}

TEST(tool_calls, what_no_word_turns_about_is_enforced_beside_what_is_left_out) {
  expect_values(R"({"anyOf":[{"$ref":"#/$defs/Mail"},{"$ref":"#/$defs/Phone"}]})", {"5", "null"}, false,
                mail_and_phone);
  expect_values(R"({"type":"object","properties":{"a":{"$ref":"#/$defs/Mail"},
                    "b":{"not":{"$ref":"#/$defs/Mail"}},"d":{"not":{"$ref":"#/$defs/Phone"}}}})",
                {R"({"a": 5})", R"({"d": "555"})"}, false, mail_and_phone);
}

TEST(tool_calls, what_spoke_of_an_object_with_others_leaves_it_open) {
  const std::string odd = R"("pattern":"(?<=a)b")";
  expect_values(R"({"properties":{"a":{"type":"string"}},"if":{"properties":{"a":{)" + odd +
                    R"(}}},"then":{"required":["b"],"properties":{"b":{"type":"integer"}}}})",
                {R"({"a": "x","b": 1})"}, true);
}

// What the pattern spoke of is none of the other members.
TEST(tool_calls, members_of_a_pattern_that_is_left_out_may_be_any) {
  const std::string odd = R"("type":"object","patternProperties":{"^\\b[A-Z]":{"type":"string"}})";
  for (const char* others :
       {R"(,"additionalProperties":false)", R"(,"additionalProperties":{"type":"integer"})",
        R"(,"additionalProperties":false,"minProperties":1)", R"(,"unevaluatedProperties":false)",
        R"(,"properties":{"n":{"type":"integer"}})"}) {
    expect_values("{" + odd + others + "}", {R"({"Accept": "a"})"}, true);
    expect_values("{" + odd + others + "}", {R"([])", R"("a")"}, false);
  }
  expect_values("{" + odd + R"(,"properties":{"n":{"type":"integer"}},"additionalProperties":false})",
                {R"({"n": "1"})"}, false);
}

TEST(tool_calls, arguments_are_an_object_whatever_hides_their_type) {
  const auto draft_7 = [](const std::string& definition) {
    return pick(R"({"$schema":"http://json-schema.org/draft-07/schema#","$ref":"#/definitions/x",
                    "type":"object","definitions":{"x":)" +
                definition + "}}");
  };
  for (const char* other : {R"({"type":"string","maxLength":5})", R"({"type":"array"})"}) {
    const auto refused = draft_7(other);
    ASSERT_FALSE(refused) << other;
    EXPECT_EQ(refused.error().code, error_code::invalid_argument);
    EXPECT_EQ(refused.error().param, "/tools/0/function/parameters");
    EXPECT_NE(refused.error().message.find("must be of the type \"object\""), std::string::npos)
        << refused.error().message;
  }
  for (const char* object :
       {R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})",
        R"({"type":["object","string"],"properties":{"a":{"type":"integer"}},"required":["a"]})",
        R"({"properties":{"a":{"type":"integer"}},"required":["a"]})"}) {
    const auto grammar = compiled(draft_7(object));
    expect_accepted(grammar, {call("pick", R"({"a": 1})")}, true);
    expect_accepted(grammar,
                    {call("pick", R"("a")"), call("pick", "[]"), call("pick", "1"), call("pick", "{}"),
                     call("pick", R"({"a": 1, "b": 2})")},
                    false);
  }
}

TEST(tool_calls, a_word_that_is_null_says_nothing) {
  const auto takes = [](const std::string& parameters, bool strict) {
    return compiled(pick(R"({"type":"object","required":["a"],)" + parameters + "}", strict));
  };
  for (const bool strict : {false, true}) {
    const auto grammar = takes(
        R"("properties":{"a":{"type":"array","items":null,"maxItems":null,"enum":null,"uniqueItems":null},
            "const":{"const":null},"n":{"anyOf":[{"type":"integer","not":null},{"$ref":"#/$defs/b"}]}},
           "$defs":{"b":{"type":"boolean","$ref":null,"allOf":null}},
           "additionalProperties":null,"patternProperties":null,"minProperties":null)",
        strict);
    expect_accepted(grammar,
                    {call("pick", R"({"a": [1,"b"]})"), call("pick", R"({"a": [], "const": null, "n": 1})"),
                     call("pick", R"({"a": [], "n": true})")},
                    true);
    expect_accepted(grammar,
                    {call("pick", R"({"a": 1})"), call("pick", R"({"a": [], "const": 1})"),
                     call("pick", R"({"a": [], "n": "x"})"), call("pick", R"({"a": [], "z": 1})")},
                    false);
  }
  expect_accepted(takes(R"("properties":null)", true), {call("pick", R"({"a": 1})")}, true);
}

// Those of a tool's first reading, and of each that follows when a word of it has been left out.
TEST(tool_calls, the_readings_of_a_tool_share_the_steps_of_one) {
  const auto schema = [](const std::string& word) {
    std::string members;
    for (int i = 0; i < 60; ++i)
      members += fmt::format(R"("a{}":{{"type":"string","pattern":"^a{{{}}}"}},)", i, i + 1);
    for (int i = 0; i < 8; ++i) members += fmt::format(R"("z{}":{{"type":"array"{}}},)", i, word);
    return R"({"type":"object","properties":{)" + members + R"("z":true}})";
  };
  const std::string as_it_is_read = schema(""), odd = schema(R"(,"uniqueItems":true)");
  const auto reads = [](const std::string& text, std::uint64_t steps) {
    const auto builder = pick(text, false, {.max_compile_steps = steps});
    EXPECT_TRUE(builder || builder.error().param == "max_compile_steps") << builder.error().message;
    return builder.has_value();
  };
  std::uint64_t least = 0, most = 1'000'000;
  ASSERT_TRUE(reads(as_it_is_read, most));
  while (least + 1 < most) (reads(as_it_is_read, (least + most) / 2) ? most : least) = (least + most) / 2;
  EXPECT_FALSE(reads(odd, most));
  EXPECT_TRUE(reads(odd, 10 * most));
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
