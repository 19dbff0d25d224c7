// What bodies say of tools.
#include "runtime/openai/tools.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/generation_request.hpp"
#include "runtime/json/exact_number.hpp"
#include "runtime/openai/request.hpp"

namespace troupe::openai {
namespace {

const std::string weather = R"({"type":"function","function":{"name":"weather","description":"of a city",
  "parameters":{"type":"object","properties":{"city":{"type":"string"}}}}})";
const std::string now = R"({"type":"function","function":{"name":"now"}})";
const std::string both = R"("tools":[)" + weather + "," + now + "]";

result<parsed_request> parse(const std::string& members) {
  json body = json::parse(R"({"messages":[{"role":"user","content":"hi"}]})");
  body.update(json::parse("{" + members + "}"));
  return parse_chat(body, {"m", 1000, 20, 1});
}

const json& offered(const parsed_request& parsed) {
  return std::get<chat_prompt>(parsed.generation.prompt).tools;
}

json wanted(const parsed_request& parsed) { return json::parse(parsed.generation.sampling.grammar->text); }

TEST(read_tools, offers_them_and_holds_the_answer_to_their_calls) {
  const auto parsed = parse(both);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(offered(*parsed), json::parse("[" + weather + "," + now + "]"));
  EXPECT_TRUE(parsed->answer.tool_calls);
  const grammar_spec& spec = *parsed->generation.sampling.grammar;
  EXPECT_EQ(spec.kind, grammar_kind::tool_calls);
  EXPECT_EQ(spec.json, json_schema::as_clients_expect);
  EXPECT_EQ(wanted(*parsed), json::parse(R"({"tools":[
    {"function":{"name":"weather","parameters":{"type":"object","properties":{"city":{"type":"string"}}}}},
    {"function":{"name":"now","parameters":{"properties":{},"type":"object"}}}],
    "allowed":[],"must_call":false,"only_once":false})"));
}

TEST(read_tools, arguments_are_an_object) {
  const auto schema_of = [](const std::string& parameters) {
    const auto parsed =
        parse(R"("tools":[{"type":"function","function":{"name":"f","parameters":)" + parameters + "}}]");
    return parsed ? wanted(*parsed)["tools"][0]["function"]["parameters"] : json(parsed.error().message);
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"{}", R"({"properties":{},"type":"object"})"},
      {R"({"type":"object"})", R"({"type":"object"})"},
      {R"({"properties":{"a":{}}})", R"({"properties":{"a":{}},"type":"object"})"},
      {R"({"type":["object","null"],"properties":{}})", R"({"type":"object","properties":{}})"},
      {R"({"properties":{},"additionalProperties":true})",
       R"({"properties":{},"additionalProperties":true,"type":"object"})"},
      {R"({"properties":{},"allOf":[{"required":["b"]}]})",
       R"({"properties":{},"allOf":[{"required":["b"]}],"type":"object"})"},
  };
  for (const auto& [given, made] : cases) EXPECT_EQ(schema_of(given).dump(), json::parse(made).dump());
  for (const char* other : {R"({"type":"array"})", R"({"type":["string","null"]})"})
    EXPECT_EQ(schema_of(other), "tools[0].function.parameters must be of the type \"object\"");
}

TEST(read_tools, a_choice_says_whether_and_what_is_called) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("tool_choice":"auto","parallel_tool_calls":false)",
       R"({"allowed":[],"must_call":false,"only_once":true})"},
      {R"("tool_choice":"required")", R"({"allowed":[],"must_call":true,"only_once":false})"},
      {R"("tool_choice":{"type":"function","name":"now"})",
       R"({"allowed":["now"],"must_call":true,"only_once":true})"},
      {R"("tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"name":"now"},{"name":"now"}]})",
       R"({"allowed":["now"],"must_call":false,"only_once":false})"},
      {R"("tool_choice":{"type":"allowed_tools","allowed_tools":{"mode":"required","tools":[
          {"function":{"name":"weather"}},{"function":{"name":"now"}}]}})",
       R"({"allowed":["weather","now"],"must_call":true,"only_once":false})"},
      {R"("tool_choice":{"type":"function","function":{"name":"now"}})",
       R"({"allowed":["now"],"must_call":true,"only_once":true})"},
  };
  for (const auto& [members, says] : cases) {
    const auto parsed = parse(both + "," + members);
    ASSERT_TRUE(parsed.has_value()) << members << ": " << parsed.error().message;
    json rest = wanted(*parsed);
    EXPECT_EQ(rest["tools"].size(), 2U);
    rest.erase("tools");
    EXPECT_EQ(rest, json::parse(says)) << members;
  }
}

TEST(read_tools, nothing_is_offered_where_nothing_may_be_called) {
  for (const std::string& members : {both + R"(,"tool_choice":"none")", std::string(R"("tools":[])"),
                                     std::string(R"("tools":null,"tool_choice":"auto")")}) {
    const auto parsed = parse(members);
    ASSERT_TRUE(parsed.has_value()) << members;
    EXPECT_TRUE(offered(*parsed).is_null());
    EXPECT_FALSE(parsed->answer.tool_calls);
    EXPECT_EQ(parsed->generation.sampling.grammar, nullptr);
  }
}

TEST(read_tools, a_schema_of_the_response_holds_where_no_call_is_made) {
  const std::string schema = R"({"type":"object","properties":{"n":{"maximum":1.10}}})";
  const std::string format =
      R"("response_format":{"type":"json_schema","json_schema":{"name":"x","schema":)" + schema + "}}";
  const auto parsed = parse(both + "," + format);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_EQ(wanted(*parsed)["response"], json::parse(schema));
  EXPECT_EQ(wanted(*parse(both + R"(,"response_format":{"type":"json_object"})"))["response"],
            json::parse(R"({"type":"object"})"));
  EXPECT_FALSE(wanted(*parse(both + R"(,"tool_choice":"required",)" + format)).contains("response"));
  for (const char* choice : {R"(,"tool_choice":"required")", ""}) {
    const auto unserved = parse(both + choice + R"(,"structured_outputs":{"regex":"a+"})");
    ASSERT_FALSE(unserved.has_value());
    EXPECT_EQ(unserved.error().message, "tools cannot be used beside a regex");
  }
  const auto none = parse(both + R"(,"tool_choice":"none",)" + format);
  ASSERT_TRUE(none.has_value());
  EXPECT_EQ(none->generation.sampling.grammar->kind, grammar_kind::json_schema);
}

TEST(read_tools, a_schema_that_comes_as_a_text_is_a_text_of_its_own) {
  const auto beside = [](const json& text) {
    return parse(both + R"(,"structured_outputs":{"json":)" + text.dump() + "}");
  };
  const auto parsed = beside(R"( {"maximum":123456789012345678901.5} )");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_NE(
      parsed->generation.sampling.grammar->text.find(R"("response":{"maximum":123456789012345678901.5}})"),
      std::string::npos);
  const auto more = beside(R"({"type":"integer"},"must_call":true)");
  ASSERT_FALSE(more.has_value());
  EXPECT_EQ(more.error().message, "the JSON Schema is not valid JSON at byte 19");
  const auto less = beside(R"({"type":)");
  ASSERT_FALSE(less.has_value());
  EXPECT_TRUE(less.error().message.starts_with("the JSON Schema is not valid JSON")) << less.error().message;
  for (const char* no_schema : {"5", "null", "\"a\""}) {
    const auto refused = beside(no_schema);
    ASSERT_FALSE(refused.has_value()) << no_schema;
    EXPECT_EQ(refused.error().message, "a JSON Schema is an object or a Boolean");
  }
}

TEST(read_tools, a_type_of_arguments_that_is_null_is_that_of_an_object) {
  const auto parsed = parse(R"("tools":[{"type":"function","function":{"name":"f","parameters":
    {"type":null,"properties":{"a":{"type":"integer"}}}}}])");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
  EXPECT_NE(parsed->generation.sampling.grammar->text.find(R"("type":"object")"), std::string::npos);
}

TEST(read_tools, words_of_a_schema_that_say_nothing_are_told) {
  const auto parsed = parse(R"("tools":[)" + now + R"(,{"type":"function","function":{"name":"f","parameters":
    {"type":"object","propertis":{}}}}])");
  ASSERT_TRUE(parsed.has_value());
  const auto& warnings = parsed->generation.sampling.grammar->warnings;
  ASSERT_EQ(warnings.size(), 1U);
  EXPECT_NE(warnings[0].find("/tools/1/function/parameters/propertis"), std::string::npos) << warnings[0];
}

TEST(read_tools, what_is_wrong_is_named) {
  const auto function = [](const std::string& members) {
    return R"("tools":[{"type":"function","function":{)" + members + "}}]";
  };
  const std::vector<std::pair<std::string, std::string>> cases = {
      {R"("tools":5)", "tools must be an array"},
      {R"("tools":[5])", "tools[0].type must be"},
      {R"("tools":[{"type":"web_search"}])", "tools[0].type must be"},
      {R"("tools":[{"type":"function"}])", "tools[0].function must be an object"},
      {function(""), "tools[0].function.name must be"},
      {function(R"("name":"a\"b")"), "tools[0].function.name must be"},
      {function(R"("name":")" + std::string(129, 'a') + "\""), "tools[0].function.name must be"},
      {function(R"("name":"a","description":5)"), "tools[0].function.description must be"},
      {function(R"("name":"a","parameters":true)"), "tools[0].function.parameters must be"},
      {R"("tools":[)" + now + "," + now + "]",
       "tools[1].function.name names a function that is there already"},
      {both + R"(,"tool_choice":"any")", "tool_choice must be"},
      {both + R"(,"tool_choice":{"type":"function"})", "tool_choice names none"},
      {both + R"(,"tool_choice":{"type":"function","function":{"name":"sun"}})", "tool_choice names none"},
      {R"("tool_choice":"required")", "tool_choice needs tools"},
      {both + R"(,"tool_choice":{"type":"allowed_tools"})", "tool_choice of allowed tools needs tools"},
      {both + R"(,"tool_choice":{"type":"allowed_tools","allowed_tools":5})",
       "tool_choice of allowed tools needs a mode"},
      {both + R"(,"tool_choice":{"type":"allowed_tools","mode":"none","tools":[{"name":"now"}]})",
       "tool_choice of allowed tools needs a mode"},
      {both +
           R"(,"tool_choice":{"type":"allowed_tools","mode":"auto","tools":[{"type":"function","name":"sun"}]})",
       "tool_choice allows a tool that is none"},
      {both + R"(,"parallel_tool_calls":"no")", "parallel_tool_calls"},
  };
  for (const auto& [members, message] : cases) {
    const auto parsed = parse(members);
    ASSERT_FALSE(parsed.has_value()) << members;
    EXPECT_TRUE(parsed.error().message.starts_with(message)) << members << ": " << parsed.error().message;
    EXPECT_EQ(parsed.error().code, error_code::invalid_argument);
    const std::string& param = parsed.error().param;
    EXPECT_TRUE(param == "tools" || param == "tool_choice" || param == "parallel_tool_calls") << param;
  }
}

TEST(read_tools, completions_have_none) {
  const auto parsed = parse_completion(json::parse(R"({"prompt":"a",)" + both + "}"), {"m", 1000, 20, 1});
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().param, "tools");
}

TEST(read_tools, numbers_of_a_schema_reach_the_template_as_they_were_written) {
  const std::string tool =
      R"({"type":"function","function":{"name":"f","parameters":{"type":"object","properties":)"
      R"({"id":{"type":"integer","maximum":123456789012345678901234567890}}}}})";
  const auto body = read_body(R"({"messages":[{"role":"user","content":"hi"}],"tools":[)" + tool + "]}");
  ASSERT_TRUE(body);
  const auto parsed = parse_chat(*body, {"m", 1000, 20, 1});
  ASSERT_TRUE(parsed) << parsed.error().message;
  EXPECT_EQ(dump_exactly(offered(*parsed)), "[" + tool + "]");
}

TEST(read_messages, arguments_of_earlier_calls_keep_whole_numbers_beyond_64_bits) {
  const auto parsed = parse(R"("messages":[{"role":"assistant","tool_calls":[{"function":{"name":"f",
    "arguments":"{\"id\": 12345678901234567890123, \"n\": 18446744073709551615}"}}]}])");
  ASSERT_TRUE(parsed) << parsed.error().message;
  const json& message = std::get<chat_prompt>(parsed->generation.prompt).messages[0];
  EXPECT_EQ(dump_exactly(message["tool_calls"][0]["function"]["arguments"]),
            R"({"id":12345678901234567890123,"n":18446744073709551615})");
}

TEST(read_messages, calls_have_their_arguments_as_objects) {
  const auto call = [](const std::string& arguments) {
    return R"("messages":[{"role":"assistant","content":null,"tool_calls":[{"id":"c","type":"function",
      "function":{"name":"f","arguments":)" +
           arguments + "}}]}]";
  };
  const auto arguments_of = [&](const std::string& given) {
    const auto parsed = parse(call(given));
    return parsed ? std::get<chat_prompt>(parsed->generation.prompt)
                        .messages[0]["tool_calls"][0]["function"]["arguments"]
                  : json(parsed.error().message);
  };
  for (const char* nothing : {R"("")", "null", "{}"}) EXPECT_EQ(arguments_of(nothing), json::object());
  // As of a call that was cut off.
  for (const char* other : {R"("[1]")", R"("{\"a\":")", R"(" ")"})
    EXPECT_EQ(arguments_of(other), json::parse(other));
  for (const char* arguments : {R"("{\"a\": 1}")", R"({"a":1})"}) {
    const auto parsed = parse(call(arguments));
    ASSERT_TRUE(parsed.has_value()) << parsed.error().message;
    const json& message = std::get<chat_prompt>(parsed->generation.prompt).messages[0];
    EXPECT_EQ(message["tool_calls"][0]["function"]["arguments"], json::parse(R"({"a":1})"));
  }
  for (const std::string& wrong :
       {call("5"), call("[]"), std::string(R"("messages":[{"role":"assistant","tool_calls":5}])"),
        std::string(R"("messages":[{"role":"assistant","tool_calls":[5]}])"),
        std::string(R"("messages":[{"role":"assistant","tool_calls":[{"function":{}}]}])")}) {
    const auto parsed = parse(wrong);
    ASSERT_FALSE(parsed.has_value()) << wrong;
    EXPECT_TRUE(parsed.error().message.starts_with("messages[0].tool_calls")) << parsed.error().message;
    EXPECT_EQ(parsed.error().param, "messages");
  }
}

}  // namespace
}  // namespace troupe::openai
