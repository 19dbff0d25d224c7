// Against tests/data/json_schema_cases.json, which make_json_schema_cases.py made with Python's jsonschema.
#include "runtime/grammar/json_schema/json_schema.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/grammar/compiled_grammar.hpp"
#include "runtime/grammar/matcher.hpp"
#include "runtime/grammar/token_trie.hpp"
#include "tests/support/paths.hpp"

namespace troupe::json_schema {
namespace {

using json = nlohmann::ordered_json;

class checked_schema {
 public:
  explicit checked_schema(std::string_view schema, const schema_options& options = {}) {
    auto builder = read_json_schema(schema, options);
    EXPECT_TRUE(builder) << schema << ": " << (builder ? "" : builder.error().message);
    if (!builder) return;
    auto compiled = grammar::compile(std::move(*builder), grammar::byte_token_trie());
    EXPECT_TRUE(compiled) << schema << ": " << (compiled ? "" : compiled.error().message);
    if (compiled) grammar_ = *compiled;
  }

  bool accepts(std::string_view text) const {
    if (!grammar_) return false;
    grammar::matcher matcher(grammar_);
    for (const char c : text)
      if (!matcher.accept(static_cast<unsigned char>(c))) return false;
    return matcher.can_end().value_or(false);
  }

 private:
  grammar::compiled_grammar_ptr grammar_;
};

TEST(JsonSchema, GivesTheVerdictsOfAnotherImplementation) {
  std::ifstream in(test::source_path("tests/data/json_schema_cases.json"));
  const json cases = json::parse(in);
  ASSERT_GT(cases.size(), 100U);
  for (const json& each : cases) {
    const checked_schema schema(each["schema"].dump());
    for (const json& text : each["valid"])
      EXPECT_TRUE(schema.accepts(text.get<std::string>())) << each["schema"] << " rejects " << text;
    for (const json& text : each["invalid"])
      EXPECT_FALSE(schema.accepts(text.get<std::string>())) << each["schema"] << " accepts " << text;
  }
}

TEST(JsonSchema, ManyRequiredMembersComeInAnyOrder) {
  std::string properties, required, forwards, backwards;
  for (int i = 0; i < 60; ++i) {
    const std::string name = "\"member" + std::to_string(i) + "\"";
    const std::string comma = i > 0 ? "," : "";
    properties += comma + name + R"(:{"type":"integer"})";
    required += comma + name;
    forwards += comma + name + ":1";
    backwards = name + ":1" + comma + backwards;
  }
  const checked_schema schema(R"({"type":"object","properties":{)" + properties + R"(},"required":[)" +
                              required + R"(],"additionalProperties":false})");
  EXPECT_TRUE(schema.accepts("{" + forwards + "}"));
  EXPECT_TRUE(schema.accepts("{" + backwards + "}"));
  EXPECT_FALSE(schema.accepts("{" + forwards.substr(0, forwards.rfind(',')) + "}"));
  EXPECT_FALSE(schema.accepts("{" + forwards + "," + required.substr(0, required.find(',')) + ":1}"));
}

TEST(JsonSchema, CountsItemsAndCharactersOneByOne) {
  const checked_schema items(R"({"type":"array","items":{"const":0},"minItems":1000,"maxItems":1001})");
  const auto zeros = [](int count) {
    std::string out = "[0";
    while (--count > 0) out += ",0";
    return out + "]";
  };
  for (const int count : {999, 1000, 1001, 1002})
    EXPECT_EQ(items.accepts(zeros(count)), count == 1000 || count == 1001);
  const checked_schema characters(R"({"type":"string","minLength":1000,"maxLength":1001})");
  const auto text = [](int count) {
    std::string out = "\"";
    while (count-- > 0) out += "é";
    return out + "\"";
  };
  for (const int count : {999, 1000, 1001, 1002})
    EXPECT_EQ(characters.accepts(text(count)), count == 1000 || count == 1001);
}

TEST(JsonSchema, NamesInAnotherSpellingAreNoOtherNames) {
  const checked_schema schema(R"({"properties":{"a":{"type":"integer"}},"type":"object"})");
  EXPECT_TRUE(schema.accepts(R"({"a":1,"b":"x"})"));
  EXPECT_FALSE(schema.accepts(R"({"\u0061":"x"})"));
}

TEST(JsonSchema, WhiteSpaceAndOrderAreOptions) {
  const char* text = R"({"type":"object","properties":{"a":{},"b":{}},"required":["b"],"maxProperties":2})";
  const checked_schema fixed(text, {.max_white_space = 0, .fixed_order = true});
  EXPECT_TRUE(fixed.accepts(R"({"a":1,"b":2})"));
  EXPECT_TRUE(fixed.accepts(R"({"b":2,"z":[]})"));
  EXPECT_FALSE(fixed.accepts(R"({"b":2,"a":1})"));
  EXPECT_FALSE(fixed.accepts(R"({"a":1,"b":2,"z":3})"));
  EXPECT_FALSE(fixed.accepts(R"({"a": 1,"b":2})"));
  const checked_schema spaced(text, {.max_white_space = 2});
  EXPECT_TRUE(spaced.accepts("{ \n\"b\" : 2,\t\"a\":1  }"));
  EXPECT_FALSE(spaced.accepts("{   \"b\":2}"));
}

TEST(JsonSchema, AnyJsonIsEveryValueOrEveryObject) {
  for (const bool only_objects : {false, true}) {
    auto builder = any_json(only_objects);
    ASSERT_TRUE(builder);
    const auto compiled = grammar::compile(std::move(*builder), grammar::byte_token_trie());
    ASSERT_TRUE(compiled);
    for (const std::string text : {R"({"a":[1e5,-0.5,{"b":null}],"":"\ud83d\ude00"})", "[true]", "3"}) {
      grammar::matcher matcher(*compiled);
      bool accepted = true;
      for (const char c : text) accepted = accepted && matcher.accept(static_cast<unsigned char>(c));
      EXPECT_EQ(accepted && matcher.can_end().value_or(false), !only_objects || text.front() == '{') << text;
    }
  }
}

}  // namespace
}  // namespace troupe::json_schema
