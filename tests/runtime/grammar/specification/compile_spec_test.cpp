// Every kind of specification as a grammar, and what is wrong with one as the client's fault.
#include "runtime/grammar/specification/compile_spec.hpp"

#include <gtest/gtest.h>

#include "runtime/grammar/specification/spec_key.hpp"
#include "tests/runtime/grammar/byte_matcher_fixture.hpp"

namespace troupe::grammar {
namespace {

using test::accepts;

result<compiled_grammar_ptr> of(const grammar_spec& spec, const grammar_limits& limits = {}) {
  return compile(spec, byte_token_trie(), limits);
}

void expect_texts(const grammar_spec& spec, const std::vector<std::string>& good,
                  const std::vector<std::string>& bad) {
  const auto grammar = of(spec);
  ASSERT_TRUE(grammar.has_value()) << grammar.error().message;
  for (const std::string& text : good) EXPECT_EQ(accepts(*grammar, text), true) << text;
  for (const std::string& text : bad) EXPECT_EQ(accepts(*grammar, text), false) << text;
}

TEST(compile_spec, every_kind_holds_to_its_texts) {
  expect_texts({.kind = grammar_kind::json_schema, .text = R"({"type":"integer"})"}, {"12", " 12"}, {"a"});
  expect_texts({.kind = grammar_kind::json_object}, {R"({"a": [1]})", "{}"}, {"[]", "1"});
  expect_texts({.kind = grammar_kind::regex, .text = "[a-z]+"}, {"abc"}, {"", "a1"});
  expect_texts({.kind = grammar_kind::choice, .choices = {"yes", "no"}}, {"yes", "no"}, {"y", "yesno"});
  expect_texts({.kind = grammar_kind::grammar, .text = "root ::= \"a\" [0-9]"}, {"a1"}, {"a", "b1"});
  expect_texts({.kind = grammar_kind::grammar, .text = "start: \"a\" /[0-9]/"}, {"a1"}, {"a", "b1"});
}

TEST(compile_spec, any_object_has_no_text_to_be_too_large) {
  const grammar_limits few{.max_source_bytes = 4};
  EXPECT_TRUE(of({.kind = grammar_kind::json_object}, few).has_value());
  EXPECT_FALSE(of({.kind = grammar_kind::json_schema, .text = R"({"type":"object"})"}, few).has_value());
}

TEST(compile_spec, a_schema_within_tags_is_told_by_one_pointer) {
  const auto refused = of({.kind = grammar_kind::structural_tag,
                           .text = R"({"structures":[{"begin":"<a>","schema":{"items":{"type":7}},)"
                                   R"("end":"</a>"}],"triggers":["<a"]})"});
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().param, "/structures/0/schema/items/type");
  EXPECT_NE(refused.error().message.find("at \"/structures/0/schema/items/type\""), std::string::npos)
      << refused.error().message;
}

// Found out by the grammar as a whole, since no word alone says so.
TEST(compile_spec, a_schema_that_no_value_satisfies_is_told_where) {
  const std::string none =
      R"({"type":"string","minLength":2,"maxLength":3,"oneOf":[{"minLength":1},{"minLength":2}]})";
  const std::vector<std::pair<std::string, std::string>> schemas{
      {none, ""},
      {R"({"type":"object","properties":{"free":{"type":"integer"},"a":)" + none + R"(},"required":["a"]})",
       "/properties/a"},
      {R"({"type":"array","minItems":2,"items":{"$ref":"#/$defs/n"},"$defs":{"n":)" + none + "}}", "/items"}};
  for (const auto& [schema, pointer] : schemas) {
    const auto refused = of({.kind = grammar_kind::json_schema, .text = schema});
    ASSERT_FALSE(refused.has_value()) << schema;
    EXPECT_EQ(refused.error().message, "JSON Schema, at \"" + pointer + "\": this is satisfied by no value");
    EXPECT_EQ(refused.error().param, pointer);
    EXPECT_EQ(refused.error().code, error_code::invalid_argument);
  }
  const std::string optional =
      R"({"type":"object","properties":{"a":)" + none + R"(},"additionalProperties":false})";
  expect_texts({.kind = grammar_kind::json_schema, .text = optional}, {"{}"}, {R"({"a":"xx"})"});
}

TEST(compile_spec, a_limit_that_a_schema_passes_is_told_with_the_place_that_passes_it) {
  std::string pattern;
  for (char first = 'a'; first <= 'z'; ++first)
    for (char second = 'a'; second <= 'j'; ++second)
      pattern += {first, '[', second, '3', ']', second, '+', '|'};
  const std::string costly =
      R"({"type":"object","properties":{"easy":{"type":"integer"},"hard":{"type":"string","pattern":"^()" +
      pattern + R"(){3,9}$"}}})";
  const std::vector<std::pair<grammar_limits, std::string>> limits{
      {{.max_regex_nodes = 700}, "max_regex_nodes"}, {{.max_compile_steps = 200}, "max_compile_steps"}};
  for (const auto& [few, name] : limits) {
    const auto refused = of({.kind = grammar_kind::json_schema, .text = costly}, few);
    ASSERT_FALSE(refused.has_value()) << name;
    EXPECT_EQ(refused.error().param, name);
    EXPECT_TRUE(
        refused.error().message.starts_with("JSON Schema, at \"/properties/hard\": grammar: more than "))
        << refused.error().message;
  }
}

TEST(compile_spec, white_space_and_order_are_as_asked_for) {
  const std::string two = R"({"type":"object","properties":{"a":{"type":"integer"},"b":{"type":"integer"}},
                              "required":["a","b"],"additionalProperties":false})";
  expect_texts(
      {.kind = grammar_kind::json_schema, .text = two, .json = {.max_white_space = 0, .fixed_order = true}},
      {R"({"a":1,"b":2})"}, {R"({"b":2,"a":1})", R"({"a": 1,"b":2})"});
  expect_texts({.kind = grammar_kind::json_schema, .text = two}, {R"({"b":2,"a":1})", R"({ "a": 1,  "b":2})"},
               {R"({"a":1})"});
}

TEST(compile_spec, structural_tags_of_both_forms_hold_their_contents) {
  const std::vector<std::string> good{"no tag", "a <f>12</f> b", "<f>1</f><f>2</f>"};
  const std::vector<std::string> bad{"<f>x</f>", "<g>", "<f>1", "< "};
  expect_texts({.kind = grammar_kind::structural_tag,
                .text = R"({"structures":[{"begin":"<f>","schema":{"type":"integer"},"end":"</f>"}],
                            "triggers":["<"]})"},
               good, bad);
  expect_texts(
      {.kind = grammar_kind::structural_tag,
       .text = R"({"type":"structural_tag","format":{"type":"triggered_tags","triggers":["<"],"tags":[
                            {"type":"tag","begin":"<f>","content":{"type":"json_schema",
                             "json_schema":{"type":"integer"}},"end":"</f>"}]}})"},
      good, bad);
  expect_texts(
      {.kind = grammar_kind::structural_tag,
       .text = R"({"type":"structural_tag","format":{"type":"triggered_tags","triggers":["<"],"tags":[
                            {"begin":"<a>","content":{"type":"regex","pattern":"[0-9]+"},"end":"</a>"},
                            {"begin":"<b>","content":{"type":"const_string","value":"x"},"end":""}],
                            "at_least_one":true,"stop_after_first":true}})"},
      {"<a>12</a>", "free <b>x"}, {"free", "<a>12</a> more", "<b>y"});
}

TEST(compile_spec, what_is_wrong_is_an_invalid_argument_with_its_place) {
  const auto refused = [](const grammar_spec& spec, const std::string& param,
                          const grammar_limits& limits = {}) {
    const auto grammar = of(spec, limits);
    ASSERT_FALSE(grammar.has_value()) << spec.text;
    EXPECT_EQ(grammar.error().code, error_code::invalid_argument) << spec.text;
    EXPECT_EQ(grammar.error().param, param) << grammar.error().message;
  };
  refused({.kind = grammar_kind::json_schema, .text = R"({"properties":{"a":{"$ref":"other.json"}}})"},
          "/properties/a/$ref");
  refused({.kind = grammar_kind::regex, .text = "(a|[b-d]e)+f"}, "max_regex_nodes", {.max_regex_nodes = 2});
  refused({.kind = grammar_kind::regex, .text = "abcdef"}, "max_source_bytes", {.max_source_bytes = 5});
  refused({.kind = grammar_kind::choice, .choices = {"abc", "def"}}, "max_source_bytes",
          {.max_source_bytes = 7});
  refused({.kind = grammar_kind::regex, .text = "(a"}, "regex");
  refused({.kind = grammar_kind::grammar, .text = "root ::= (\"a\""}, "grammar");
  const auto tags = [](const std::string& text) {
    return grammar_spec{.kind = grammar_kind::structural_tag, .text = text};
  };
  refused(tags("[]"), "");
  refused(tags("{}"), "");
  refused(tags("{"), "");
  refused(tags(R"({"structures":[],"triggers":[1]})"), "/triggers/0");
  refused(tags(R"({"structures":[{"begin":"<f>","end":""}],"triggers":["<"]})"), "/structures/0");
  refused(tags(R"({"structures":[{"begin":1}],"triggers":["<"]})"), "/structures/0/begin");
  refused(tags(R"({"structures":[{"begin":"<f>","end":"","schema":{"type":"odd"}}],"triggers":["<"]})"),
          "/structures/0/schema/type");
  refused(tags(R"({"type":"structural_tag","format":{"type":"sequence"}})"), "/format/type");
  refused(tags(R"({"type":"structural_tag","format":{"type":"triggered_tags","triggers":["<"],"tags":[
                   {"begin":"<f>","content":{"type":"any_text"},"end":""}]}})"),
          "/format/tags/0/content/type");
}

// Each tag is held against each trigger, and a trigger may be named often.
TEST(compile_spec, many_tags_times_many_triggers_are_refused_and_equal_triggers_count_once) {
  const auto spec = [](std::size_t tags, std::size_t triggers) {
    std::string text = R"({"type":"structural_tag","format":{"type":"triggered_tags","triggers":[)";
    for (std::size_t i = 0; i < triggers; ++i) text += i == 0 ? R"("<")" : R"(,"<")";
    text += R"(],"tags":[)";
    for (std::size_t i = 0; i < tags; ++i)
      text += std::string(i == 0 ? "" : ",") +
              R"({"type":"tag","begin":"<a","content":{"type":"const_string","value":"x"},"end":">"})";
    return grammar_spec{.kind = grammar_kind::structural_tag, .text = text + "]}}"};
  };
  const auto refused = of(spec(1'001, 1'000));
  ASSERT_FALSE(refused.has_value());
  EXPECT_EQ(refused.error().param, "max_links");
  expect_texts(spec(2, 1'000), {"free", "<ax>"}, {"<ay>", "<"});
}

TEST(spec_key, is_equal_exactly_for_equal_specifications) {
  const std::vector<grammar_spec> different{
      {.kind = grammar_kind::regex, .text = "a"},
      {.kind = grammar_kind::grammar, .text = "a"},
      {.kind = grammar_kind::regex, .text = "b"},
      {.kind = grammar_kind::json_object},
      {.kind = grammar_kind::json_object, .json = {.max_white_space = 0}},
      {.kind = grammar_kind::json_object, .json = {.fixed_order = true}},
      {.kind = grammar_kind::json_object, .json = {.plain_integers = true}},
      {.kind = grammar_kind::json_object, .json = {.closed_objects = true}},
      {.kind = grammar_kind::json_object, .json = {.short_numbers = true}},
      {.kind = grammar_kind::json_object, .json = {.only_objects = true}},
      {.kind = grammar_kind::choice, .choices = {"a", "b"}},
      {.kind = grammar_kind::choice, .choices = {"a1 b"}},
      {.kind = grammar_kind::choice, .choices = {"ab"}},
      {.kind = grammar_kind::choice, .text = "1 a", .choices = {"b"}},
      {.kind = grammar_kind::choice, .choices = {}},
      {.kind = grammar_kind::regex, .text = std::string(40, 'a')},
      {.kind = grammar_kind::regex, .text = std::string(41, 'a')},
      {.kind = grammar_kind::regex, .text = std::string(40, 'a') + '\0'}};
  const auto key_of = [](const grammar_spec& spec) {
    return spec_key(std::make_shared<const grammar_spec>(spec));
  };
  for (const grammar_spec& a : different) {
    for (const grammar_spec& b : different) {
      EXPECT_EQ(key_of(a) == key_of(b), a == b) << a.text;
      EXPECT_EQ(key_of(a).hash() == key_of(b).hash(), a == b) << a.text;
    }
  }
}

}  // namespace
}  // namespace troupe::grammar
