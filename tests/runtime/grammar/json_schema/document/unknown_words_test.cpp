#include "runtime/grammar/json_schema/document/unknown_words.hpp"

#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/json/json.hpp"

namespace troupe::json_schema {
namespace {

using found_words = std::vector<std::pair<std::string, std::string>>;

found_words unknown_in(const char* schema) {
  found_words out;
  for (const unknown_word& each : unknown_words(json::parse(schema)))
    out.emplace_back(each.pointer, each.meant);
  return out;
}

TEST(UnknownWords, AreNamedWithTheWordThatIsSpelledNearlyLikeThem) {
  EXPECT_EQ(unknown_in(R"({"type":"string","maxLenght":2})"), (found_words{{"/maxLenght", "maxLength"}}));
  EXPECT_EQ(unknown_in(R"({"propertys":{"maxlength":{}}})"), (found_words{{"/propertys", "properties"}}));
  EXPECT_EQ(unknown_in(R"({"nto":{},"colour":1,"q":2,"nullable":true})"),
            (found_words{{"/nto", "not"}, {"/colour", ""}, {"/q", ""}, {"/nullable", ""}}));
}

TEST(UnknownWords, AreFoundWhereverThereAreSchemas) {
  EXPECT_EQ(unknown_in(R"({"properties":{"a/b":{"minimun":1}},"allOf":[true,{"items":[{"patern":"x"}]}],
                           "$defs":{"requird":{"requird":[]}},"dependencies":{"a":["b"],"c":{"tpye":1}}})"),
            (found_words{{"/properties/a~1b/minimun", "minimum"},
                         {"/allOf/1/items/0/patern", "pattern"},
                         {"/$defs/requird/requird", "required"},
                         {"/dependencies/c/tpye", "type"}}));
}

TEST(UnknownWords, AreNoNamesAndNoValuesOfTheAuthorsChoice) {
  EXPECT_TRUE(unknown_in(R"({"$schema":"x","$comment":"","title":"t","deprecated":true,"x-order":3,
                             "properties":{"maxLenght":{"default":{"tpye":1},"examples":[{"tpye":1}]}},
                             "patternProperties":{"tpye":true},"enum":[{"tpye":1}],"const":{"tpye":1}})")
                  .empty());
  EXPECT_TRUE(unknown_in("true").empty());
}

TEST(UnknownWords, HoldFormatsToo) {
  EXPECT_EQ(
      unknown_in(
          R"({"format":"emial","items":{"format":"int32"},"anyOf":[{"format":"date-time"},{"format":7}]})"),
      (found_words{{"/format", "email"}, {"/items/format", ""}, {"/anyOf/1/format", ""}}));
  const auto words = unknown_words(json::parse(R"({"format":"emial","maxLenght":3,"q":1})"));
  ASSERT_EQ(words.size(), 3U);
  EXPECT_EQ(describe(words[0]),
            "JSON Schema, at \"/format\": no format of JSON Schema, so it says nothing: did you mean email?");
  EXPECT_EQ(
      describe(words[1]),
      "JSON Schema, at \"/maxLenght\": no word of JSON Schema, so it says nothing: did you mean maxLength?");
  EXPECT_EQ(describe(words[2]), "JSON Schema, at \"/q\": no word of JSON Schema, so it says nothing");
}

// As drafts up to 3 had it, and slips: where the type leaves the word nothing to speak of, nobody refuses it.
TEST(UnknownWords, AreThoseWhoseValueHasAnotherFormToo) {
  const auto schema = json::parse(
      R"({"properties":{"a":{"type":"integer","required":true,"minLength":-1,"maxLength":2.0,"items":5}},
          "$defs":[],"required":["a",1],"type":[],"exclusiveMinimum":true,"minimum":"3","uniqueItems":"yes",
          "dependentRequired":{"a":"b"},"allOf":[1],"items":[true,{}],"additionalItems":[true],"pattern":1,
          "not":null,"enum":{},"title":5})");
  std::string told;
  for (const unknown_word& each : unknown_words(schema)) told += each.pointer + " " + each.wanted + "\n";
  EXPECT_EQ(told,
            "/properties/a/required must be an array of names\n"
            "/properties/a/minLength must be a whole number, not negative\n"
            "/properties/a/items must be a schema\n"
            "/$defs must be an object\n"
            "/required must be an array of names\n"
            "/type must be a type, or an array of types that is not empty\n"
            "/minimum must be a number\n"
            "/uniqueItems must be true or false\n"
            "/dependentRequired must have arrays of names\n"
            "/allOf must be an array of schemas\n"
            "/additionalItems must be a schema\n"
            "/pattern must be a string\n"
            "/not must be a schema\n"
            "/enum must be an array\n");
  EXPECT_EQ(describe(unknown_words(schema)[0]),
            "JSON Schema, at \"/properties/a/required\": this must be an array of names, so it says nothing");
}

TEST(UnknownWords, AreNoMoreThanAreAskedFor) {
  json schema;
  for (int i = 0; i < 100; ++i) schema["properties"]["a"]["word " + std::to_string(i)] = 1;
  EXPECT_EQ(unknown_words(schema, 3).size(), 3U);
  EXPECT_EQ(unknown_words(schema).size(), 100U);
}

}  // namespace
}  // namespace troupe::json_schema
