#include "runtime/openai/grammar_fields.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

namespace troupe::openai {
namespace {

struct reading {
  grammar_spec_ptr spec;
  result<void> status;
};

reading read(const std::string& body) {
  const json parsed = json::parse(body);
  field_reader fields(parsed);
  auto spec = read_grammar(fields);
  return {spec, fields.status()};
}

TEST(read_grammar, each_name_of_a_kind_gives_what_the_client_wrote) {
  const std::string schema = R"({"type":"object","properties":{"b":{},"a":{"minimum":1.0}}})";
  const auto of = [](grammar_kind kind, std::string text) {
    return grammar_spec{.kind = kind, .text = std::move(text)};
  };
  const std::string tag = R"({"type":"structural_tag","structures":[],"triggers":["<"]})";
  const grammar_spec by_schema = of(grammar_kind::json_schema, schema);
  grammar_spec in_order = by_schema;
  in_order.json.fixed_order = in_order.json.plain_integers = true;
  const std::vector<std::pair<std::string, grammar_spec>> cases = {
      {R"({"response_format":{"type":"json_object"}})", of(grammar_kind::json_object, "")},
      {R"({"response_format":{"type":"json_schema","json_schema":{"name":"x","strict":true,"schema":)" +
           schema + "}}}",
       in_order},
      {R"({"structured_outputs":{"fixed_order":false,"plain_integers":false},"response_format":{"type":"json_schema","json_schema":{"schema":)" +
           schema + "}}}",
       by_schema},
      {R"({"response_format":)" + tag + "}", of(grammar_kind::structural_tag, tag)},
      {R"({"structured_outputs":{"json":)" + schema + "}}", by_schema},
      {R"({"structured_outputs":{"json":)" + json(schema).dump() + "}}", by_schema},
      {R"({"structured_outputs":{"regex":"a+","json":null}})", of(grammar_kind::regex, "a+")},
      {R"({"structured_outputs":{"grammar":"root ::= \"a\""}})", of(grammar_kind::grammar, "root ::= \"a\"")},
      {R"({"structured_outputs":{"json_object":true}})", of(grammar_kind::json_object, "")},
      {R"({"structured_outputs":{"structural_tag":)" + json(tag).dump() + "}}",
       of(grammar_kind::structural_tag, tag)},
      {R"({"structured_outputs":{"choice":["b","a"]}})",
       grammar_spec{.kind = grammar_kind::choice, .choices = {"b", "a"}}},
      {R"({"guided_json":)" + schema + "}", by_schema},
      {R"({"guided_regex":"a+"})", of(grammar_kind::regex, "a+")},
      {R"({"regex":"a+"})", of(grammar_kind::regex, "a+")},
      {R"({"json_schema":)" + schema + "}", by_schema},
      {R"({"json_schema":)" + json(schema).dump() + "}", by_schema},
      {R"({"grammar":"root ::= \"a\"","json_schema":""})", of(grammar_kind::grammar, "root ::= \"a\"")},
      {R"({"ebnf":"root ::= \"a\"","regex":""})", of(grammar_kind::grammar, "root ::= \"a\"")},
      {R"({"guided_choice":["b"]})", grammar_spec{.kind = grammar_kind::choice, .choices = {"b"}}},
      {R"({"guided_grammar":"start: \"a\""})", of(grammar_kind::grammar, "start: \"a\"")},
  };
  for (const auto& [body, expected] : cases) {
    const reading got = read(body);
    ASSERT_TRUE(got.status.has_value()) << body << ": " << got.status.error().message;
    ASSERT_NE(got.spec, nullptr) << body;
    grammar_spec closed = expected;
    closed.json.closed_objects = closed.json.short_numbers = true;
    EXPECT_EQ(*got.spec, closed) << body;
  }
}

TEST(read_grammar, words_that_say_nothing_are_warned_of_however_the_schema_comes) {
  const std::string schema = R"({"maxLenght":3,"format":"emial"})";
  const std::vector<std::string> warnings{
      "JSON Schema, at \"/maxLenght\": no word of JSON Schema, so it says nothing: did you mean maxLength?",
      "JSON Schema, at \"/format\": no format of JSON Schema, so it says nothing: did you mean email?"};
  for (const std::string& body :
       {R"({"structured_outputs":{"json":)" + schema + "}}", R"({"guided_json":)" + json(schema).dump() + "}",
        R"({"response_format":{"type":"json_schema","json_schema":{"schema":)" + schema + "}}}"}) {
    const reading got = read(body);
    ASSERT_NE(got.spec, nullptr) << body;
    EXPECT_EQ(got.spec->warnings, warnings) << body;
  }
  const std::string structures =
      R"({"structures":[{"begin":"<a>","schema":)" + schema + R"(,"end":"</a>"}],"triggers":["<a"]})";
  const std::string format =
      R"({"type":"structural_tag","format":{"type":"triggered_tags","triggers":["<a"],"tags":[{"type":"tag","begin":"<a>",)"
      R"("content":{"type":"json_schema","json_schema":)" +
      schema + R"(},"end":"</a>"}]}})";
  const auto in_tags = [&](const std::string& pointer) {
    std::vector<std::string> moved = warnings;
    for (std::string& each : moved) each.insert(each.find('/'), pointer);
    return moved;
  };
  for (const auto& [body, pointer] : std::vector<std::pair<std::string, std::string>>{
           {R"({"structured_outputs":{"structural_tag":)" + json(structures).dump() + "}}",
            "/structures/0/schema"},
           {R"({"structured_outputs":{"structural_tag":)" + structures + "}}", "/structures/0/schema"},
           {R"({"response_format":)" + format + "}", "/format/tags/0/content/json_schema"}}) {
    const reading got = read(body);
    ASSERT_NE(got.spec, nullptr) << body;
    EXPECT_EQ(got.spec->warnings, in_tags(pointer)) << body;
  }
  json many;
  for (int i = 0; i < 100; ++i) many["word " + std::to_string(i)] = 1;
  many[std::string(1000, 'x')] = 1;
  EXPECT_EQ(read(R"({"guided_json":)" + many.dump() + "}").spec->warnings.size(), 8U);
}

TEST(read_grammar, options_stand_beside_a_kind) {
  const auto compact = read(R"({"structured_outputs":{"disable_any_whitespace":true,"json":{}}})");
  ASSERT_NE(compact.spec, nullptr);
  EXPECT_EQ(compact.spec->json.max_white_space, 0U);
  EXPECT_FALSE(compact.spec->json.fixed_order);
  const auto ordered = read(R"({"structured_outputs":{"json":{},"max_white_space":3,"fixed_order":true}})");
  ASSERT_NE(ordered.spec, nullptr);
  EXPECT_EQ(ordered.spec->json.max_white_space, 3U);
  EXPECT_TRUE(ordered.spec->json.fixed_order);
  EXPECT_TRUE(ordered.spec->json.closed_objects);
  const auto open = read(
      R"({"structured_outputs":{"json":{},"closed_objects":false,"disable_additional_properties":false}})");
  ASSERT_NE(open.spec, nullptr);
  EXPECT_FALSE(open.spec->json.closed_objects);
  EXPECT_TRUE(open.spec->json.short_numbers);
  const auto long_ones = read(R"({"structured_outputs":{"json":{},"short_numbers":false}})");
  ASSERT_NE(long_ones.spec, nullptr);
  EXPECT_FALSE(long_ones.spec->json.short_numbers);
  const auto with_format =
      read(R"({"response_format":{"type":"json_object"},"guided_whitespace_pattern":null})");
  EXPECT_NE(with_format.spec, nullptr);
}

TEST(read_grammar, vllms_parameters_may_be_sent_whole) {
  const auto whole = [](const std::string& member, const std::string& value) {
    json members =
        json::parse(R"({"json":{"type":"object"},"regex":null,"choice":null,"grammar":null,"json_object":null,
          "disable_fallback":false,"disable_any_whitespace":false,"disable_additional_properties":false,
          "whitespace_pattern":null,"structural_tag":null,"_backend":null,"_backend_was_auto":false})");
    if (!member.empty()) members[member] = json::parse(value);
    return read(R"({"structured_outputs":)" + members.dump() + "}");
  };
  grammar_spec expected{.kind = grammar_kind::json_schema, .text = R"({"type":"object"})"};
  expected.json.closed_objects = expected.json.short_numbers = true;
  for (const char* flag : {"", "disable_fallback", "_backend_was_auto", "disable_additional_properties"}) {
    const reading got = whole(flag, "true");
    ASSERT_NE(got.spec, nullptr) << got.status.error().message;
    EXPECT_EQ(*got.spec, expected) << flag;
  }
  for (const auto& [member, value] :
       std::vector<std::pair<std::string, std::string>>{{"_backend", R"("xgrammar")"},
                                                        {"disable_additional_properties", "1"},
                                                        {"whitespace_pattern", R"(" ")"},
                                                        {"disable_fallback", "1"},
                                                        {"_backend_was_auto", R"("no")"}}) {
    const reading got = whole(member, value);
    ASSERT_FALSE(got.status.has_value()) << member;
    EXPECT_EQ(got.status.error().param, "structured_outputs." + member);
  }
}

TEST(read_grammar, bodies_that_ask_for_nothing_get_none) {
  for (const char* body :
       {"{}", R"({"response_format":null})", R"({"response_format":{"type":"text"}})",
        R"({"structured_outputs":null})", R"({"guided_json":null})", R"({"guided_json_object":false})"}) {
    const reading got = read(body);
    EXPECT_TRUE(got.status.has_value()) << body;
    EXPECT_EQ(got.spec, nullptr) << body;
  }
}

TEST(read_grammar, what_is_wrong_is_named_by_its_place) {
  const std::vector<std::pair<const char*, const char*>> wrong = {
      {R"({"response_format":"json"})", "response_format"},
      {R"({"response_format":{}})", "response_format"},
      {R"({"response_format":{"type":"xml"}})", "response_format"},
      {R"({"response_format":{"type":"json_schema"}})", "response_format.json_schema"},
      {R"({"response_format":{"type":"json_schema","json_schema":{"name":"x"}}})",
       "response_format.json_schema"},
      {R"({"response_format":{"type":"json_schema","json_schema":{"schema":5}}})",
       "response_format.json_schema.schema"},
      {R"({"response_format":{"type":"json_schema","json_schema":{"schema":{},"strict":1}}})",
       "response_format.json_schema.strict"},
      {R"({"structured_outputs":[]})", "structured_outputs"},
      {R"({"structured_outputs":{}})", "structured_outputs"},
      {R"({"structured_outputs":{"max_white_space":1}})", "structured_outputs"},
      {R"({"structured_outputs":{"jason":{}}})", "structured_outputs"},
      {R"({"structured_outputs":{"regex":5}})", "structured_outputs.regex"},
      {R"({"structured_outputs":{"regex":""}})", "structured_outputs.regex"},
      {R"({"structured_outputs":{"choice":[]}})", "structured_outputs.choice"},
      {R"({"structured_outputs":{"choice":["a",1]}})", "structured_outputs.choice"},
      {R"({"structured_outputs":{"json":{},"max_white_space":-1}})", "structured_outputs.max_white_space"},
      {R"({"structured_outputs":{"json":{},"whitespace_pattern":" "}})",
       "structured_outputs.whitespace_pattern"},
      {R"({"structured_outputs":{"json":{},"closed_objects":1}})", "structured_outputs.closed_objects"},
      {R"({"structured_outputs":{"json":{},"short_numbers":1}})", "structured_outputs.short_numbers"},
      {R"({"structured_outputs":{"json":{},"regex":"a"}})", "structured_outputs.regex"},
      {R"({"response_format":{"type":"json_object"},"guided_regex":"a"})", "guided_regex"},
      {R"({"response_format":{"type":"json_object","schema":{}}})", "response_format"},
      {R"({"guided_choice":"a"})", "guided_choice"},
      {R"({"guided_whitespace_pattern":" *"})", "guided_whitespace_pattern"},
  };
  for (const auto& [body, param] : wrong) {
    const reading got = read(body);
    ASSERT_FALSE(got.status.has_value()) << body;
    EXPECT_EQ(got.status.error().param, param) << body << ": " << got.status.error().message;
    EXPECT_EQ(got.spec, nullptr) << body;
  }
}

}  // namespace
}  // namespace troupe::openai
