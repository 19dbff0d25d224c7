// What cannot be enforced is refused, with the JSON pointer of the word.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/grammar/json_schema/json_schema.hpp"

namespace troupe::json_schema {
namespace {

struct refused {
  std::string schema;
  error_code code;
  std::string pointer;
};

// As far inside as one part alone is to blame.
TEST(JsonSchemaRefusal, OfASchemaWithoutValuesNamesThePartThatHasNone) {
  const std::string narrow = R"({"type":"string","minLength":5,"maxLength":2})";
  const std::vector<std::pair<std::string, std::string>> cases{
      {narrow, ""},
      {R"({"type":"object","required":["a"],"properties":{"b":true,"a":{"$ref":"#/$defs/o"}},"$defs":{"o":)"
       R"({"type":"object","required":["b"],"properties":{"b":)" +
           narrow + "}}}}",
       "/$defs/o/properties/b"},
      {R"({"type":"array","minItems":1,"items":)" + narrow + "}", "/items"},
      {R"({"type":"array","minItems":2,"prefixItems":[true,)" + narrow + "]}", "/prefixItems/1"},
      {R"({"type":"object","required":["x"],"properties":{"x":{"$ref":"#"}}})", "/properties/x"},
      {R"({"type":["array","object"],"minItems":1,"items":false,"required":["a"],"properties":{"a":false}})",
       ""}};
  for (const auto& [schema, pointer] : cases) {
    const auto read = read_json_schema(schema);
    ASSERT_FALSE(read) << schema;
    const bool says_why = schema.find("minLength") != std::string::npos;
    EXPECT_EQ(read.error().message, "JSON Schema, at \"" + pointer + "\": this is satisfied by no value" +
                                        (says_why ? ": minLength is above maxLength" : ""));
  }
}

TEST(JsonSchemaRefusal, OfASchemaWithoutValuesNamesTheWordsThatContradictEachOther) {
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"type":"object","properties":{"name":{}},"required":["name","nmae"],"additionalProperties":false})",
       "\"nmae\" is required and not among the properties, and additionalProperties is false"},
      {R"({"type":"object","propertys":{"name":{}},"required":["name"],"additionalProperties":false})",
       "\"name\" is required and not among the properties, and additionalProperties is false"},
      {R"({"type":"integer","minimum":10,"maximum":5})", "minimum is above maximum"},
      {R"({"type":"string","enum":[1,2]})", "no value of enum is of the type"},
      {R"({"type":["null","integer"],"const":1.5})", "const is not of the type"},
      {R"({"enum":[]})", "enum lists no value"}};
  for (const auto& [schema, why] : cases) {
    const auto read = read_json_schema(schema);
    ASSERT_FALSE(read) << schema;
    EXPECT_EQ(read.error().message, "JSON Schema, at \"\": this is satisfied by no value: " + why);
  }
  for (const std::string schema :
       {R"({"type":"string","enum":["a"],"minLength":2})",
        R"({"type":"object","required":["a"],"patternProperties":{"^b":{}},"additionalProperties":false})",
        R"({"type":"number","const":1,"minimum":2})"}) {
    const auto read = read_json_schema(schema);
    ASSERT_FALSE(read) << schema;
    EXPECT_EQ(read.error().message, "JSON Schema, at \"\": this is satisfied by no value") << "no guess";
  }
}

TEST(JsonSchemaRefusal, NamesTheLimitThatIsPassed) {
  std::string many = "0", nested = "{}", arrays;
  for (int i = 1; i <= 300; ++i) {
    many += "," + std::to_string(i);
    nested = R"({"items":)" + nested + "}";
    arrays += (i == 1 ? "[" : ",[") + std::to_string(i) + "]";
  }
  const std::vector<std::pair<std::string, std::string>> cases{
      {R"({"type":"array","uniqueItems":true,"items":{"enum":[)" + many + "]}}", "at most 256 scalar values"},
      {R"({"enum":[)" + arrays + "]}", "than 256 (max_alternatives)"},
      {nested, "more than 200 levels (max_depth)"}};
  for (const auto& [schema, said] : cases) {
    const auto read = read_json_schema(schema);
    ASSERT_FALSE(read) << said;
    EXPECT_NE(read.error().message.find(said), std::string::npos) << read.error().message;
  }
  const auto values = read_json_schema(R"({"enum":[)" + many + "]}", {}, {.max_schema_values = 100});
  ASSERT_FALSE(values);
  EXPECT_NE(values.error().message.find("more than 100 (max_schema_values)"), std::string::npos)
      << values.error().message;
  EXPECT_EQ(values.error().param, "max_schema_values");
  EXPECT_EQ(read_json_schema(nested).error().param, "max_depth");
}

TEST(JsonSchemaRefusal, NamesTheWordByItsPointer) {
  const std::vector<refused> cases{
      {R"({"properties":{"a":{"type":"array","uniqueItems":true}}})", error_code::unsupported,
       "/properties/a/uniqueItems"},
      {R"({"items":{"type":"string","pattern":"(a)\\1"}})", error_code::unsupported, "/items/pattern"},
      {R"({"patternProperties":{"(/":{}}})", error_code::invalid_argument, "/patternProperties/(~1"},
      {R"({"allOf":[{"$ref":"#/a"}],"unevaluatedProperties":false,"a":{}})", error_code::unsupported,
       "/unevaluatedProperties"},
      {R"({"anyOf":[true],"unevaluatedItems":{"type":"string"}})", error_code::unsupported,
       "/unevaluatedItems"},
      {R"({"properties":{"a":{"pattern":"^\\07$"}}})", error_code::unsupported, "/properties/a/pattern"},
      {R"({"multipleOf":1e300})", error_code::unsupported, "/multipleOf"},
      {R"({"multipleOf":12345678901234567890123})", error_code::unsupported, "/multipleOf"},
      {R"({"maxItems":1.000000000000000000001})", error_code::invalid_argument, "/maxItems"},
      {R"({"items":{"a/b":[0,{"const":1e-400}]}})", error_code::invalid_argument, "/items/a~1b/1/const"},
      {R"({"items":{"minimum":1e400}})", error_code::invalid_argument, "/items/minimum"},
      {R"({"multipleOf":0})", error_code::invalid_argument, "/multipleOf"},
      {R"({"minLength":-1})", error_code::invalid_argument, "/minLength"},
      {R"({"maxItems":"3"})", error_code::invalid_argument, "/maxItems"},
      {R"({"type":"text"})", error_code::invalid_argument, "/type"},
      {R"({"properties":{"a~/b":{"type":7}}})", error_code::invalid_argument, "/properties/a~0~1b/type"},
      {R"({"$ref":"https://example.com/other.json"})", error_code::invalid_argument, "/$ref"},
      {R"({"items":{"$id":")" + std::string(1025, 'a') + R"("}})", error_code::invalid_argument,
       "/items/$id"},
      {R"({"required":"a"})", error_code::invalid_argument, "/required"},
      {R"({"required":["a",1]})", error_code::invalid_argument, "/required/1"},
      {R"({"dependentRequired":{"a":"b"}})", error_code::invalid_argument, "/dependentRequired/a"},
      {R"({"dependentRequired":{"a":["b",5]}})", error_code::invalid_argument, "/dependentRequired/a/1"},
      {R"({"items":{"$anchor":3}})", error_code::invalid_argument, "/items/$anchor"},
      {R"({"items":{"$id":["a"]}})", error_code::invalid_argument, "/items/$id"},
      {R"({"enum":3})", error_code::invalid_argument, "/enum"},
      {R"({"anyOf":[]})", error_code::invalid_argument, "/anyOf"},
      {R"({"contains":true,"minContains":100000,"items":{"type":"string"},"prefixItems":[{"type":"null"}]})",
       error_code::unsupported, "/contains"},
      {R"({"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"},"$defs":{"b":{"$id":"b","$dynamicAnchor":"n"}}})",
       error_code::unsupported, "/items/$dynamicRef"},
      {R"({"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,
           "items":{"$recursiveRef":"#"},"$defs":{"b":{"$id":"b","$recursiveAnchor":true}}})",
       error_code::unsupported, "/items/$recursiveRef"},
      {R"({"$defs":{"a":{"allOf":[{"$ref":"#/$defs/a"}]}},"properties":{"x":{"$ref":"#/$defs/a"}}})",
       error_code::unsupported, "/$defs/a"},
  };
  for (const refused& each : cases) {
    const auto read = read_json_schema(each.schema);
    ASSERT_FALSE(read) << each.schema;
    EXPECT_EQ(read.error().code, each.code) << each.schema << ": " << read.error().message;
    EXPECT_EQ(read.error().param, each.pointer) << each.schema;
    EXPECT_NE(read.error().message.find('"' + each.pointer), std::string::npos) << read.error().message;
  }
}

TEST(JsonSchemaRefusal, OfWhatIsNoSchemaNamesThatPart) {
  for (const auto& [schema, pointer] : std::vector<std::pair<std::string, std::string>>{
           {R"({"properties":{"a":5}})", "/properties/a"},
           {R"({"properties":{"b":{},"a":{"properties":{"~/":[]}}}})", "/properties/a/properties/~0~1"},
           {R"({"patternProperties":{"^a/":null}})", "/patternProperties/^a~1"},
           {R"({"dependentSchemas":{"a":["b"]}})", "/dependentSchemas/a"},
           {R"({"allOf":[{},5]})", "/allOf/1"},
           {R"({"anyOf":[{},"x"]})", "/anyOf/1"},
           {R"({"oneOf":[{},{"items":5}]})", "/oneOf/1/items"},
           {R"({"prefixItems":[{},5]})", "/prefixItems/1"},
           {R"({"items":[{},5]})", "/items/1"},
           {R"({"not":null})", "/not"}}) {
    const auto read = read_json_schema(schema);
    ASSERT_FALSE(read) << schema;
    EXPECT_EQ(read.error().message, "JSON Schema, at \"" + pointer + "\": this must be a schema");
    EXPECT_EQ(read.error().param, pointer);
  }
  EXPECT_EQ(read_json_schema(R"({"dependencies":{"a/b":5}})").error().message,
            "JSON Schema, at \"/dependencies/a~1b\": this must be a schema or an array of names");
  EXPECT_EQ(read_json_schema(R"({"anyOf":[]})").error().message,
            "JSON Schema, at \"/anyOf\": anyOf must be an array of schemas that is not empty");
}

// Two alternatives each: the ninth makes 512 of them.
TEST(JsonSchemaRefusal, OfTooManyAlternativesNamesThePartThatMakesThem) {
  std::string names, both, pairs, conditions;
  for (int i = 0; i < 9; ++i) {
    const std::string comma = i > 0 ? "," : "", a = "a" + std::to_string(i), b = "b" + std::to_string(i);
    names += comma + '"' + a + R"(":[")" + b + "\"]";
    both += comma + R"({"anyOf":[{"required":[")" + a + R"("]},{"required":[")" + b + R"("]}]})";
    pairs += comma + R"({"required":[")" + a + R"(",")" + b + R"("]})";
    conditions += comma + R"({"if":{"required":[")" + a + R"("]},"then":{"required":[")" + b + R"("]}})";
  }
  for (const auto& [schema, pointer] : std::vector<std::pair<std::string, std::string>>{
           {R"({"type":"object","dependentRequired":{)" + names + "}}", "/dependentRequired/a8"},
           {R"({"type":"object","dependencies":{)" + names + "}}", "/dependencies/a8"},
           {R"({"type":"object","allOf":[)" + both + "]}", "/allOf/8"},
           {R"({"type":"object","allOf":[)" + conditions + "]}", "/allOf/8"},
           {R"({"items":{"not":{"anyOf":[)" + pairs + "]}}}", "/items/not"}}) {
    const auto read = read_json_schema(schema);
    ASSERT_FALSE(read) << schema;
    EXPECT_EQ(read.error().param, pointer);
    EXPECT_EQ(read.error().message,
              "JSON Schema, at \"" + pointer +
                  "\": this makes more alternatives, multiplied out, than 256 (max_alternatives)");
  }
}

TEST(JsonSchemaRefusal, SaysNotThatThereIsNoValueWhereAFormatIsApproximated) {
  const std::string unsure =
      "this is satisfied by no value, as far as can be told: a format without an exact form is let through "
      "in part, and denied more widely than it is";
  for (const char* schema : {R"({"type":"string","not":{"format":"regex"},"enum":["\\"]})",
                             R"({"type":"string","format":"regex","enum":["((((a))))b"]})"}) {
    const auto read = read_json_schema(schema);
    ASSERT_FALSE(read) << schema;
    EXPECT_EQ(read.error().message, "JSON Schema, at \"\": " + unsure);
  }
  const auto read = read_json_schema(R"({"type":"string","not":{"format":"ipv4"},"enum":["1.2.3.4"]})");
  ASSERT_FALSE(read);
  EXPECT_EQ(read.error().message, "JSON Schema, at \"\": this is satisfied by no value") << "ipv4 is exact";
}

TEST(JsonSchemaRefusal, NamesTheObjectWhosePatternsAreTooMany) {
  std::string patterns;
  for (const char letter : std::string("abcdefgh"))
    patterns += (patterns.empty() ? "\"" : ",\"") + std::string(1, letter) + "\":{\"minLength\":1}";
  const std::string object = R"({"type":"object","patternProperties":{)" + patterns + "}}";
  for (const auto& [schema, pointer] :
       {std::pair(object, ""), std::pair(R"({"properties":{"k":)" + object + "}}", "/properties/k")}) {
    const auto read = read_json_schema(schema);
    ASSERT_FALSE(read) << schema;
    EXPECT_EQ(read.error().param, std::string(pointer) + "/patternProperties") << read.error().message;
  }
}

TEST(JsonSchemaRefusal, AnAnchorThatIsAloneMeansOnePlace) {
  for (const char* schema :
       {R"({"$dynamicAnchor":"n","items":{"$dynamicRef":"#n"},"$defs":{"b":{"$dynamicAnchor":"m"}}})",
        R"({"$anchor":"n","items":{"$dynamicRef":"#n"},"$defs":{"b":{"$id":"b","$dynamicAnchor":"n"}}})",
        R"({"$schema":"https://json-schema.org/draft/2019-09/schema","$recursiveAnchor":true,
            "items":{"$recursiveRef":"#"},"$defs":{"b":{"$id":"b","$recursiveAnchor":false}}})",
        R"({"$schema":"http://json-schema.org/draft-07/schema#","items":{"$recursiveRef":"#/nowhere"}})"})
    EXPECT_TRUE(read_json_schema(schema).has_value()) << schema;
}

TEST(JsonSchemaRefusal, SaysSoWhereNoValueIsLeft) {
  for (const char* schema :
       {"false", R"({"not":{}})", R"({"type":"string","minLength":3,"maxLength":2})", R"({"enum":[]})",
        R"({"type":"object","required":["a"],"properties":{"a":false}})",
        R"({"type":"string","pattern":"^a$","minLength":2})",
        R"({"type":"integer","exclusiveMinimum":1,"exclusiveMaximum":2})",
        R"({"$ref":"#/$defs/t","$defs":{"t":{"type":"array","minItems":1,"items":{"$ref":"#/$defs/t"}}}})"}) {
    const auto read = read_json_schema(schema);
    ASSERT_FALSE(read) << schema;
    EXPECT_EQ(read.error().code, error_code::invalid_argument) << schema;
  }
}

// Each would take very long, or very much memory, if it were multiplied out.
TEST(JsonSchemaRefusal, HostileSchemasEndWithinTheBudget) {
  std::string product, conditions, choices, many;
  for (int i = 0; i < 40; ++i) {
    product += (i > 0 ? "," : "") + std::string(R"({"anyOf":[{"required":["a)") + std::to_string(i) +
               R"("]},{"required":["b)" + std::to_string(i) + R"("]}]})";
    conditions += (i > 0 ? "," : "") + std::string("\"a") + std::to_string(i) + "\":[\"b\"]";
  }
  for (int i = 0; i < 400; ++i)
    choices += (i > 0 ? "," : "") + std::string(R"({"properties":{"a)") + std::to_string(i) +
               R"(":{"const":0},"b)" + std::to_string(i) + R"(":{"const":1}}})";
  for (int i = 0; i < 300'000; ++i) many += (i > 0 ? "," : "") + std::to_string(i);
  for (const std::string& schema :
       {R"({"allOf":[)" + product + "]}", R"({"dependentRequired":{)" + conditions + "}}",
        R"({"oneOf":[)" + choices + "]}", R"({"enum":[)" + many + "]}",
        std::string(R"({"anyOf":[{"$ref":"#"},{"type":"string"}]})"),
        R"({"type":"string","pattern":")" + std::string(60'000, '(') + std::string(60'000, ')') + "\"}"})
    EXPECT_FALSE(read_json_schema(schema)) << schema.substr(0, 60);
}

TEST(JsonSchemaRefusal, LargeCountsAreCountedNotWrittenOut) {
  for (const char* schema :
       {R"({"type":"array","minItems":1000000000,"items":{"type":"integer"}})",
        R"({"type":"string","minLength":1000000,"maxLength":2000000000})",
        R"({"type":"object","minProperties":100000,"additionalProperties":{"type":"null"}})",
        R"({"type":"string","pattern":"^(a{1000}){1000}$"})"})
    EXPECT_TRUE(read_json_schema(schema)) << schema;
}

}  // namespace
}  // namespace troupe::json_schema
