// Where objects are closed, and that what is left is allowed.
#include "runtime/grammar/json_schema/document/closed_objects.hpp"

#include <gtest/gtest.h>

#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "runtime/grammar/json_schema/json_schema.hpp"
#include "runtime/grammar/specification/compile_spec.hpp"
#include "runtime/json/json.hpp"
#include "runtime/token_bits.hpp"
#include "tests/runtime/grammar/byte_matcher_fixture.hpp"

namespace troupe::json_schema {
namespace {

using grammar::test::accepts;

json with_closed(const json& node, const std::unordered_set<const json*>& closed) {
  json out = node;
  if (node.is_structured())
    for (auto from = node.begin(), to = node.end(); from != to; ++from)
      (node.is_object() ? out[from.key()] : out[static_cast<std::size_t>(from - node.begin())]) =
          with_closed(*from, closed);
  if (closed.contains(&node)) out["additionalProperties"] = false;
  return out;
}

// With what is closed so written out.
std::string closed(const std::string& text) {
  const json schema = json::parse(text);
  return with_closed(schema, objects_to_close(schema)).dump();
}

void stays(const std::string& text) { EXPECT_EQ(closed(text), json::parse(text).dump()); }

grammar::compiled_grammar_ptr compiled(const std::string& text, bool closed_objects) {
  return grammar::test::compiled(
      read_json_schema(text, {.max_white_space = 0, .closed_objects = closed_objects}));
}

TEST(closed_objects, objects_that_name_their_members_have_no_others) {
  EXPECT_EQ(closed(R"({"properties":{"a":{"properties":{"b":true}}},"items":{"properties":{}}})"),
            R"({"properties":{"a":{"properties":{"b":true},"additionalProperties":false}},)"
            R"("items":{"properties":{},"additionalProperties":false},"additionalProperties":false})");
  EXPECT_EQ(
      closed(R"({"type":"array","prefixItems":[{"properties":{"a":true}},true]})"),
      R"({"type":"array","prefixItems":[{"properties":{"a":true},"additionalProperties":false},true]})");
}

TEST(closed_objects, who_speaks_of_other_members_is_left_alone) {
  stays(R"({"type":"object"})");
  stays(R"({"properties":{"a":true},"additionalProperties":{"type":"integer"}})");
  stays(R"({"properties":{"a":true},"patternProperties":{"^x":true}})");
  stays(R"({"properties":{"a":true},"required":["a","b"]})");
  stays(R"({"properties":{"a":true},"minProperties":2})");
  stays(R"({"enum":[{"properties":{"a":true}}],"const":{"properties":{}}})");
}

TEST(closed_objects, parts_that_speak_of_one_value_are_left_alone) {
  stays(R"({"allOf":[{"properties":{"a":true}},{"properties":{"b":true}}]})");
  stays(R"({"properties":{"a":true},"anyOf":[{"required":["b"]},{"properties":{"c":true}}]})");
  stays(R"({"not":{"properties":{"a":true}}})");
  stays(R"({"if":{"properties":{"a":true}},"then":{"properties":{"b":true}}})");
  stays(R"({"items":{"properties":{"a":true}},"contains":{"required":["b"]}})");
  stays(R"({"oneOf":[{"properties":{"a":true}},{"properties":{"b":true}}]})");
  stays(R"({"properties":{"x":{"properties":{"a":true}}},"patternProperties":{"x":{"required":["b"]}}})");
}

TEST(closed_objects, a_type_beside_alternatives_or_a_reference_says_nothing_of_members) {
  EXPECT_EQ(closed(R"({"type":"object","anyOf":[{"properties":{"a":true}},{"properties":{"b":true}}]})"),
            R"({"type":"object","anyOf":[{"properties":{"a":true},"additionalProperties":false},)"
            R"({"properties":{"b":true},"additionalProperties":false}]})");
  EXPECT_EQ(
      closed(R"({"$ref":"#/$defs/A","$defs":{"A":{"properties":{"a":true}}},"type":["object","null"]})"),
      R"({"$ref":"#/$defs/A","$defs":{"A":{"properties":{"a":true},"additionalProperties":false}},)"
      R"("type":["object","null"]})");
  stays(R"({"type":"object","allOf":[{"properties":{"a":true}},{"properties":{"b":true}}]})");
  stays(R"({"type":"object","oneOf":[{"properties":{"a":true}},{"properties":{"b":true}}]})");
  stays(R"({"type":"object","required":["b"],"anyOf":[{"properties":{"a":true}}]})");
}

// Each was found by a reviewer or by the test below.
TEST(closed_objects, names_items_constants_and_identifiers_are_no_way_around_that) {
  const std::string base = R"("$defs":{"Base":{"properties":{"a":true}}})";
  const auto leaves_base = [&](const std::string& properties) {
    const json done = json::parse(closed("{" + base + R"(,"properties":{)" + properties + "}}"));
    EXPECT_FALSE(done["$defs"]["Base"].contains("additionalProperties")) << properties;
  };
  leaves_base(R"("example":{"allOf":[{"$ref":"#/$defs/Base"},{"required":["b"]}]})");
  leaves_base(R"("x":{"$ref":"#/$defs/Base"},"default":{"not":{"$ref":"#/$defs/Base"}})");
  leaves_base(R"("x":{"$ref":"#/$defs/Base","items":{"required":["b"]}})");
  stays(R"({"type":"array","items":{"required":["b"]},"anyOf":[{"items":{"properties":{"a":true}}}]})");
  stays(R"({"properties":{"a":{"properties":{}}},"const":{"a":{"b":1}}})");
  stays(R"({"properties":{"a":true},"enum":[{"b":1}]})");
  stays(
      R"({"$defs":{"X":{"$id":"http://x","properties":{"a":true}}},"properties":{"x":{"$ref":"#/$defs/X"}}})");
  stays(
      R"({"oneOf":[{"properties":{"k":{"const":1}},"required":["k"]},{"properties":{"k":{"const":1.0}},"required":["k"]}]})");
}

TEST(closed_objects, alternatives_are_closed_each) {
  EXPECT_EQ(closed(R"({"anyOf":[{"properties":{"a":true}},{"type":"null"}]})"),
            R"({"anyOf":[{"properties":{"a":true},"additionalProperties":false},{"type":"null"}]})");
  EXPECT_EQ(closed(R"({"allOf":[{"properties":{"a":true}}]})"),
            R"({"allOf":[{"properties":{"a":true},"additionalProperties":false}]})");
  const std::string told_apart =
      closed(R"({"oneOf":[{"properties":{"k":{"const":"cat"},"m":true},"required":["k"]},)"
             R"({"properties":{"k":{"enum":["dog"]}},"required":["k"]}]})");
  EXPECT_NE(told_apart.find(R"("required":["k"],"additionalProperties":false},{)"), std::string::npos);
  stays(R"({"oneOf":[{"properties":{"k":{"const":"cat"}},"required":["k"]},)"
        R"({"properties":{"k":{"const":"cat"}},"required":["k"]}]})");
  stays(R"({"oneOf":[{"properties":{"k":{"const":"cat"}}},{"properties":{"k":{"const":"dog"}}}]})");
}

TEST(closed_objects, definitions_are_closed_where_all_references_stand_alone) {
  // As pydantic writes unions told apart by a constant.
  const std::string pydantic =
      R"({"$defs":{"Cat":{"properties":{"k":{"const":"cat"},"m":{"$ref":"#/$defs/Name"}},"required":["k"]},)"
      R"("Dog":{"properties":{"k":{"const":"dog"}},"required":["k"]},"Name":{"properties":{"n":{"type":"string"}}}},)"
      R"("properties":{"pet":{"oneOf":[{"$ref":"#/$defs/Cat"},{"$ref":"#/$defs/Dog"}],"title":"Pet"}}})";
  const json done = json::parse(closed(pydantic));
  for (const char* name : {"Cat", "Dog", "Name"})
    EXPECT_EQ(done["$defs"][name]["additionalProperties"], false);
  EXPECT_EQ(done["additionalProperties"], false);
  // The base of another: closed it would leave nothing.
  const json derived = json::parse(closed(
      R"({"$defs":{"Base":{"properties":{"a":true}}},"properties":{"x":{"allOf":[{"$ref":"#/$defs/Base"},{"properties":{"b":true}}]}}})"));
  EXPECT_FALSE(derived["$defs"]["Base"].contains("additionalProperties"));
  EXPECT_EQ(derived["additionalProperties"], false) << "nothing leads to the root";
  stays(R"({"properties":{"x":{"allOf":[{"$ref":"#"},{"required":["b"]}]}}})");
  const json tree = json::parse(closed(R"({"properties":{"next":{"$ref":"#"}}})"));
  EXPECT_EQ(tree["additionalProperties"], false);
}

TEST(closed_objects, are_held_to_that_by_the_grammar) {
  const std::string schema = R"({"type":"object","properties":{"a":{"type":"integer"}},"required":["a"]})";
  EXPECT_EQ(accepts(compiled(schema, true), R"({"a":1})"), true);
  EXPECT_EQ(accepts(compiled(schema, true), R"({"a":1,"b":2})"), false);
  EXPECT_EQ(accepts(compiled(schema, false), R"({"a":1,"b":2})"), true);
}

using dice = std::mt19937;

// nullptr: no value is allowed.
grammar::compiled_grammar_ptr test_grammar(const json& schema, bool closed_objects) {
  const auto made = grammar::compile(
      grammar::schema_spec(schema.dump(), {.max_white_space = 0, .closed_objects = closed_objects}),
      grammar::byte_token_trie(), {});
  return made.value_or(nullptr);
}

json random_schema(dice& random, int depth);

json random_properties(dice& random, int depth) {
  json properties = json::object();
  for (const char* name : {"a", "default"})
    if (random() % 3 > 0) properties[name] = random_schema(random, depth - 1);
  return properties;
}

// Of objects and lists of few names and values, with every word that may speak of an object once more.
json random_schema(dice& random, int depth) {
  const std::vector<json> leaves{
      {{"const", 1}}, {{"enum", {1, 2}}}, {{"type", "null"}}, true, {{"$ref", "#/$defs/D"}}};
  if (depth <= 0) return leaves[random() % leaves.size()];
  json schema = {{"type", "object"}};
  if (random() % 4 > 0) schema["properties"] = random_properties(random, depth);
  if (random() % 3 == 0) schema["required"] = json::array({random() % 2 == 0 ? "a" : "default"});
  const auto some = [&] {
    return json::array({random_schema(random, depth - 1), random_schema(random, depth - 1)});
  };
  switch (random() % 15) {
    case 0:
      schema["allOf"] = some();
      break;
    case 1:
      schema = {{"anyOf", some()}};
      break;
    case 2:
      schema["anyOf"] = some();
      break;
    case 3:
      schema = {{"oneOf", some()}};
      break;
    case 4:
      schema["not"] = random_schema(random, depth - 1);
      break;
    case 5:
      schema["if"] = random_schema(random, depth - 1), schema["then"] = random_schema(random, depth - 1);
      break;
    case 6:
      schema = {{"type", "array"}, {"items", random_schema(random, depth - 1)}, {"maxItems", 2}};
      break;
    case 7:
      schema["patternProperties"] = {{"^a", random_schema(random, depth - 1)}};
      break;
    case 8:
      schema["dependentSchemas"] = {{"a", random_schema(random, depth - 1)}};
      break;
    case 9:
      schema["additionalProperties"] = random_schema(random, depth - 1);
      break;
    case 10:
      schema["minProperties"] = 1;
      break;
    case 11:
      schema["const"] = {{"a", 1}, {"b", 2}};
      break;
    case 12:
      schema = {
          {"type", "array"}, {"minItems", 1}, {"maxItems", 1}, {"items", random_schema(random, depth - 1)}};
      schema["anyOf"] = json::array({{{"items", random_schema(random, depth - 1)}}});
      break;
    case 13:
      schema = {{"$ref", "#/$defs/D"}, {"properties", random_properties(random, depth)}};
      break;
    default:
      break;
  }
  return schema;
}

// Of a grammar of bytes; nothing where it does not end soon.
std::optional<std::string> random_text(const grammar::compiled_grammar_ptr& of, dice& random) {
  constexpr token_id end = 256;
  grammar::matcher at(of);
  std::vector<std::uint32_t> mask(of->vocabulary().num_words());
  for (std::string text; text.size() < 100;) {
    if (!at.fill_mask(mask)) return std::nullopt;
    std::vector<token_id> allowed, short_ones;
    for (token_id token = 0; token < end; ++token)
      if (has_token(mask, token))
        (std::string_view("\"}]ab1n").find(static_cast<char>(token)) == std::string_view::npos ? allowed
                                                                                               : short_ones)
            .push_back(token);
    if (has_token(mask, end) && (random() % 2 == 0 || (allowed.empty() && short_ones.empty()))) return text;
    const auto& from = allowed.empty() || (!short_ones.empty() && random() % 8 > 0) ? short_ones : allowed;
    if (from.empty()) return std::nullopt;
    const token_id next = from[random() % from.size()];
    if (!at.accept(next)) return std::nullopt;
    text.push_back(static_cast<char>(next));
  }
  return std::nullopt;
}

// What is left is allowed, and something is left.
TEST(closed_objects, nothing_is_let_through_that_was_not_and_no_schema_becomes_empty) {
  dice random(11);
  int closed_ones = 0, texts = 0;
  for (int round = 0; round < 6'000; ++round) {
    json schema = random_schema(random, 3);
    if (!schema.is_object()) continue;
    schema["$defs"] = {{"D", random_schema(random, 1)}};
    const auto open = read_json_schema(schema.dump(), {.max_white_space = 0});
    const auto closed = read_json_schema(schema.dump(), {.max_white_space = 0, .closed_objects = true});
    ASSERT_EQ(open.has_value(), closed.has_value()) << schema << (closed ? "" : closed.error().message);
    if (!open || objects_to_close(schema).empty()) continue;
    const auto as_it_is = test_grammar(schema, false), as_closed = test_grammar(schema, true);
    if (!as_it_is) continue;
    ASSERT_TRUE(as_closed) << schema;
    ++closed_ones;
    for (int i = 0; i < 4; ++i) {
      const auto text = random_text(as_closed, random);
      if (!text) continue;
      ++texts;
      ASSERT_EQ(accepts(as_it_is, *text), true) << schema << "\n" << *text;
    }
  }
  EXPECT_GT(closed_ones, 300);
  EXPECT_GT(texts, 1000);
}

}  // namespace
}  // namespace troupe::json_schema
