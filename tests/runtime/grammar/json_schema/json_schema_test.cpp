// Against tests/data/json_schema_cases.json, which make_json_schema_cases.py made with Python's jsonschema.
#include "runtime/grammar/json_schema/json_schema.hpp"

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/json/exact_number.hpp"
#include "runtime/json/json.hpp"
#include "runtime/json/json_reader.hpp"
#include "tests/runtime/grammar/json_schema/checked_schema.hpp"
#include "tests/support/paths.hpp"

namespace troupe::json_schema {
namespace {

TEST(JsonSchema, GivesTheVerdictsOfAnotherImplementation) {
  std::ifstream in(test::source_path("tests/data/json_schema_cases.json"));
  const std::string file((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const json cases = read_json(file, {}, {.everywhere = true}).value();
  ASSERT_GT(cases.size(), 100U);
  for (const json& each : cases) {
    const checked_schema schema(dump_exactly(each["schema"]));
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

// Whatever makes them whole; where others may stand a model may write any.
TEST(JsonSchema, WholeNumbersCanBePlain) {
  for (const char* text :
       {R"({"type":"integer"})", R"({"type":"integer","minimum":-20})", R"({"enum":[7,-3,0,20]})",
        R"({"type":"number","multipleOf":1})", R"({"allOf":[{"type":"number"},{"type":"integer"}]})"}) {
    const checked_schema any(text);
    const checked_schema plain(text, {.plain_integers = true});
    for (const char* whole : {"7", "-3", "0", "20"}) EXPECT_TRUE(plain.accepts(whole)) << text << whole;
    for (const char* other : {"7.0", "-3.0", "-0", "0.0"}) {
      EXPECT_TRUE(any.accepts(other) || std::string_view(other) == "-0") << text << other;
      EXPECT_FALSE(plain.accepts(other)) << text << other;
    }
    EXPECT_FALSE(plain.accepts("1e16")) << text;
    EXPECT_FALSE(plain.accepts("0.5")) << text;
  }
  for (const char* text :
       {R"({"type":"integer","minimum":-2147483648,"maximum":2147483647})",
        R"({"type":"integer","minimum":0,"maximum":9007199254740991})",
        R"({"type":"integer","minimum":0,"maximum":18446744073709551615})",
        R"({"type":"integer","maximum":12345678901234567})",
        R"({"type":"integer","multipleOf":100,"minimum":100,"maximum":100000})",
        R"({"multipleOf":50,"type":"number"})", R"({"type":"integer","not":{"multipleOf":3}})",
        R"({"enum":[1e300,200,97000]})", R"({"not":{"not":{"type":"integer"}}})"}) {
    const checked_schema plain(text, {.plain_integers = true});
    EXPECT_TRUE(plain.accepts("200")) << text;
    for (const char* other : {"200.0", "200.00", "-0", "2e2"})
      EXPECT_FALSE(plain.accepts(other)) << text << other;
  }
  const checked_schema beside_fractions(R"({"enum":[1,2.5]})", {.plain_integers = true});
  EXPECT_TRUE(beside_fractions.accepts("2.50"));
  EXPECT_FALSE(beside_fractions.accepts("1.0"));
  const checked_schema fractions(R"({"type":["number","string"],"maximum":9})", {.plain_integers = true});
  for (const char* number : {"7", "7.0", "0.5", "\"x\""}) EXPECT_TRUE(fractions.accepts(number)) << number;
  const checked_schema nested(R"({"const":{"a":[1,2.5]}})", {.plain_integers = true});
  EXPECT_TRUE(nested.accepts(R"({"a": [1, 2.5]})"));
  EXPECT_FALSE(nested.accepts(R"({"a": [1.0, 2.5]})"));
}

TEST(JsonSchema, OneOfManyConstantsIsAnyOfThoseThatStandOnce) {
  std::string constants;
  for (int i = 0; i < 2000; ++i) {
    const std::string number = std::to_string(i);
    constants += R"({"const":")" + number + R"(","title":"t"},{"enum":[)" + number + "]},";
  }
  const checked_schema schema(R"({"oneOf":[)" + constants +
                              R"({"const":7.0},{"const":"8"},{"const":{"a":[1],"b":2}},
      {"enum":[{"b":2.0,"a":[1]},{"b":2,"a":[1,null]}]},{"type":"boolean"},{"type":"integer","minimum":1999}]})");
  for (const char* text : {"\"9\"", "\"1999\"", "9", "1998", "2000", "true", R"({"a":[1,null],"b":2})"})
    EXPECT_TRUE(schema.accepts(text)) << text;
  for (const char* text : {"\"8\"", "\"2000\"", "7", "7.0", "1999", "null", R"({"a":[1],"b":2})", "0.5"})
    EXPECT_FALSE(schema.accepts(text)) << text;
}

TEST(JsonSchema, MembersWhoseNamesAreFewComeOnce) {
  const checked_schema by_enum(R"({"type":"object","propertyNames":{"enum":["red","blue","g\u00fcn"]},
      "additionalProperties":{"type":"integer"},"minProperties":2})");
  const checked_schema by_pattern(
      R"({"type":"object","patternProperties":{"^(red|blue|g\u00fcn)$":{"type":"integer"}},
      "additionalProperties":false,"minProperties":2})");
  for (const checked_schema* schema : {&by_enum, &by_pattern}) {
    EXPECT_TRUE(schema->accepts(R"({"red": 1, "blue": 2})"));
    EXPECT_TRUE(schema->accepts("{\"g\u00fcn\": 3, \"blue\": 2, \"red\": 1}"));
    EXPECT_FALSE(schema->accepts(R"({"red": 1, "red": 2})"));
    EXPECT_FALSE(schema->accepts(R"({"red": 1, "blue": "x"})"));
    EXPECT_FALSE(schema->accepts(R"({"red": 1, "pink": 2})"));
    EXPECT_FALSE(schema->accepts(R"({"red": 1})"));
  }
  const checked_schema mixed(
      R"({"type":"object","patternProperties":{"^[ab]$":{"type":"integer"},"^a":{"minimum":5}}})");
  EXPECT_TRUE(mixed.accepts(R"({"a": 5, "b": 1, "ab": "x", "c": null})"));
  EXPECT_FALSE(mixed.accepts(R"({"a": 4})"));
  EXPECT_FALSE(mixed.accepts(R"({"b": 1, "b": 2})"));
  EXPECT_FALSE(mixed.accepts(R"({"ab": 4})"));
}

// Values that Python reads as others than they are written.
TEST(JsonSchema, NumbersAreWhatReadersTakeThemFor) {
  const checked_schema below_one(R"({"type":"number","exclusiveMaximum":1,"minimum":0})");
  EXPECT_TRUE(below_one.accepts("0.9999999999999999"));
  EXPECT_FALSE(below_one.accepts("0.99999999999999999"));
  EXPECT_FALSE(below_one.accepts("1.0"));
  const checked_schema above_zero(R"({"type":"number","exclusiveMinimum":0,"maximum":1})");
  EXPECT_TRUE(above_zero.accepts("0.0001"));
  EXPECT_TRUE(above_zero.accepts("1e-05"));
  EXPECT_TRUE(above_zero.accepts("2.5e-300"));
  EXPECT_FALSE(above_zero.accepts("1e-400"));
  EXPECT_FALSE(above_zero.accepts("0." + std::string(400, '0') + "1"));
  const checked_schema below_ten(R"({"type":"number","exclusiveMaximum":10.5})");
  EXPECT_TRUE(below_ten.accepts("10.499999999999998"));
  EXPECT_TRUE(below_ten.accepts("10"));
  EXPECT_FALSE(below_ten.accepts("10.4999999999999999"));
  for (const char* type : {"integer", "number"}) {
    const checked_schema any(std::string(R"({"type":")") + type + "\"}");
    for (const char* text : {"1e+16", "1e308", "9E307", "123456789e+0299", "-1e+307"})
      EXPECT_TRUE(any.accepts(text)) << type << ' ' << text;
    for (const char* text : {"1E9999", "2e308", "1e309", "-1e1000", "12e308"})
      EXPECT_FALSE(any.accepts(text)) << type << ' ' << text;
  }
  EXPECT_TRUE(checked_schema(R"({"type":"number"})").accepts("1.7976931348623157e+308"));
  const checked_schema large(R"({"enum":[12345678901234567890,18446744073709551616]})");
  EXPECT_TRUE(large.accepts("12345678901234567890"));
  EXPECT_FALSE(large.accepts("12345678901234567890.0"));
  EXPECT_TRUE(large.accepts("18446744073709551616.0"));
}

TEST(JsonSchema, AnInternationalMailboxHasLettersOfAllScriptsAndHyphens) {
  const checked_schema schema(R"({"type":"string","format":"idn-email"})");
  for (const char* text : {"\"\u00e9@b.c\"", "\"\u5b9f\u4f8b-a.x@b.c\"", "\"a-b@b.c\"", "\"~@b.c\""})
    EXPECT_TRUE(schema.accepts(json::parse(text).dump())) << text;
  for (const char* text : {"\"\u0085@b.c\"", "\"\u007f@b.c\"", "\"a..b@b.c\"", "\"@b.c\""})
    EXPECT_FALSE(schema.accepts(json::parse(text).dump())) << text;
}

TEST(JsonSchema, NumbersBeyondAMachinesAreWhatTheyAreWrittenAs) {
  const checked_schema constant(R"({"const":12345678901234567890123})");
  EXPECT_TRUE(constant.accepts("12345678901234567890123"));
  EXPECT_FALSE(constant.accepts("12345678901234567890123.0"));  // a double, and another one
  EXPECT_FALSE(constant.accepts("12345678901234567890122"));
  EXPECT_FALSE(constant.accepts("12345678901234567000000"));
  const checked_schema fraction(R"({"maximum":0.12345678901234567890123,"minimum":-12345678901234567890.5})");
  EXPECT_TRUE(fraction.accepts("0.12345678901234567890123"));
  EXPECT_FALSE(fraction.accepts("0.12345678901234567890124"));
  EXPECT_TRUE(fraction.accepts("-12345678901234567890.5"));
  EXPECT_FALSE(fraction.accepts("-12345678901234567890.51"));
  const checked_schema shifted(R"({"enum":[1234567890123456789012345.5e-3,-1.23456789012345678901e22]})");
  EXPECT_TRUE(shifted.accepts("1234567890123456789012.3455"));
  EXPECT_TRUE(shifted.accepts("-12345678901234567890100"));
  EXPECT_FALSE(shifted.accepts("-12345678901234567890000"));
  const checked_schema multiples(R"({"multipleOf":0.123456789012345678})");
  EXPECT_TRUE(multiples.accepts("0.246913578024691356"));
  EXPECT_FALSE(multiples.accepts("0.246913578024691357"));
  const checked_schema large(R"({"const":9007199254740993.0})");
  EXPECT_TRUE(large.accepts("9007199254740993"));
  EXPECT_FALSE(large.accepts("9007199254740992"));
}

TEST(JsonSchema, NumbersThatReadersTakeForOthersAreNotWrittenWhereItMatters) {
  const checked_schema multiples(R"({"type":"number","multipleOf":3})");
  for (const char* text : {"9007199254740993", "3.0", "-999999999999999.0", "12345678901234567890123"})
    EXPECT_TRUE(multiples.accepts(text)) << text;
  EXPECT_FALSE(multiples.accepts("9007199254740993.0"));  // is read as ...992
  const checked_schema denied(R"({"type":"number","not":{"maximum":5}})");
  EXPECT_TRUE(denied.accepts("5.00000000000001"));
  EXPECT_FALSE(denied.accepts("5.00000000000000000001"));
  const checked_schema fractions(R"({"type":"number","not":{"type":"integer"}})");
  EXPECT_TRUE(fractions.accepts("1.5"));
  EXPECT_FALSE(fractions.accepts("1.00"));
  EXPECT_FALSE(fractions.accepts("1.00000000000000000001"));
  const checked_schema remaining(R"({"enum":[0.12345678901234568,0.5],"not":{"const":0.5}})");
  EXPECT_TRUE(remaining.accepts("0.12345678901234568"));
  EXPECT_FALSE(remaining.accepts("0.5"));
  const checked_schema halves(R"({"type":"number","multipleOf":0.5})");
  EXPECT_TRUE(halves.accepts("523412345678901.5"));
  EXPECT_FALSE(halves.accepts("5234123456789012.5"));  // is read as ...012
  const checked_schema from(R"({"type":"number","minimum":9007199254740993})");
  EXPECT_TRUE(from.accepts("9007199254740993"));
  EXPECT_FALSE(from.accepts("9007199254740993.0"));
  const checked_schema above(R"({"type":"number","exclusiveMinimum":1152921504606846976})");
  EXPECT_TRUE(above.accepts("1152921504606846977"));
  EXPECT_FALSE(above.accepts("1152921504606846977.0"));
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

TEST(JsonSchema, WordsOfLaterDraftsMeanNothing) {
  const auto draft = [](const char* uri, const char* words) {
    return checked_schema(R"({"$schema":")" + std::string(uri) + R"(",)" + words + "}");
  };
  const char *draft7 = "http://json-schema.org/draft-07/schema#",
             *draft2019 = "https://json-schema.org/draft/2019-09/schema";
  const char* counts = R"("contains":{"const":1},"minContains":2,"maxContains":2)";
  EXPECT_TRUE(draft(draft7, counts).accepts("[1]"));
  EXPECT_TRUE(draft(draft7, counts).accepts("[1, 1, 1]"));
  EXPECT_FALSE(draft(draft7, R"("contains":{"const":1},"minContains":0)").accepts("[]"));
  EXPECT_FALSE(draft(draft2019, counts).accepts("[1]"));
  const char* prefix = R"("prefixItems":[{"const":1}])";
  EXPECT_TRUE(draft(draft7, prefix).accepts("[2]"));
  EXPECT_TRUE(draft(draft2019, prefix).accepts("[2]"));
  EXPECT_FALSE(draft("https://json-schema.org/draft/2020-12/schema", prefix).accepts("[2]"));
  for (const char* needs :
       {R"("dependentRequired":{"a":["b"]})", R"("dependentSchemas":{"a":{"required":["b"]}})"}) {
    EXPECT_TRUE(draft(draft7, needs).accepts(R"({"a": 1})")) << needs;
    EXPECT_FALSE(draft(draft2019, needs).accepts(R"({"a": 1})")) << needs;
  }
  const checked_schema hidden(R"({"$schema":"http://json-schema.org/draft-07/schema#","type":"array",
    "uniqueItems":true,"maxItems":1,"items":{"$ref":"#/definitions/n","enum":["x"]},
    "definitions":{"n":{"type":"null"}}})");
  EXPECT_TRUE(hidden.accepts("[null]"));
  EXPECT_FALSE(hidden.accepts("[\"x\"]"));
}

TEST(JsonSchema, ItemsThatDifferAreAskedForOnlyWhereTheyMatter) {
  const checked_schema schema(
      R"({"type":"array","contains":{"type":"array","uniqueItems":true,"minItems":2,"items":{"enum":[1,2]}}})");
  EXPECT_TRUE(schema.accepts("[3, [2, 1]]"));
  EXPECT_FALSE(schema.accepts("[[1, 1]]"));
  EXPECT_FALSE(schema.accepts("[3]"));
}

TEST(JsonSchema, EqualNumbersOfAnEnumAreOneItem) {
  const checked_schema schema(R"({"type":"array","uniqueItems":true,"items":{"enum":[1,1.0,2,"1",true]}})");
  EXPECT_TRUE(schema.accepts(R"([2, 1, "1", true])"));
  EXPECT_FALSE(schema.accepts("[1, 1.0]"));
  EXPECT_FALSE(schema.accepts("[2, 2]"));
}

TEST(JsonSchema, BranchesOfATaggedUnionAreComparedByTheirTags) {
  const auto branch = [](int i) {
    const std::string tag = "t" + std::to_string(i);
    return json{
        {"type", "object"},
        {"properties", {{"tag", {{"const", tag}}}, {"v", {{"type", i % 2 == 0 ? "string" : "null"}}}}},
        {"required", {"tag"}}};
  };
  json branches = json::array();
  for (int i = 0; i < 600; ++i) branches.push_back(branch(i));
  const checked_schema schema(json{{"oneOf", branches}}.dump());
  EXPECT_TRUE(schema.accepts(R"({"tag": "t598", "v": "x"})"));
  EXPECT_TRUE(schema.accepts(R"({"v": null, "tag": "t599"})"));
  EXPECT_FALSE(schema.accepts(R"({"tag": "t599", "v": "x"})"));
  EXPECT_FALSE(schema.accepts(R"({"tag": "t600"})"));
  branches[599] = branch(1);
  const checked_schema twice(json{{"oneOf", branches}}.dump());
  EXPECT_FALSE(twice.accepts(R"({"tag": "t1", "v": null})"));
  EXPECT_TRUE(twice.accepts(R"({"tag": "t3", "v": null})"));
}

// A word of draft 7, which later drafts name among those to be avoided, as what it was.
TEST(JsonSchema, DependenciesHoldInLaterDraftsToo) {
  const checked_schema schema(R"({"type":"object","dependencies":{"a":["b"],"c":{"required":["b"]}}})");
  EXPECT_TRUE(schema.accepts(R"({"a": 1, "b": 2})"));
  EXPECT_FALSE(schema.accepts(R"({"a": 1})"));
  EXPECT_FALSE(schema.accepts(R"({"c": 1})"));
  EXPECT_TRUE(schema.accepts(R"({"d": 1})"));
}

TEST(JsonSchema, InternationalNamesAreThoseOfDomains) {
  const checked_schema mail(R"({"type":"string","format":"idn-email"})");
  for (const char* text : {R"("jürgen@müller.example")", R"("用户@例え.jp")", R"("a@b.example")"})
    EXPECT_TRUE(mail.accepts(text)) << text;
  for (const char* text : {R"("a@-b.example")", R"("a@Ü.example")", R"("a@b c")", R"("a@")"})
    EXPECT_FALSE(mail.accepts(text)) << text;
  const checked_schema name(R"({"type":"string","format":"idn-hostname"})");
  EXPECT_TRUE(name.accepts(R"("пример.example")"));
  EXPECT_FALSE(name.accepts(R"("прим ер")"));
  for (const char* text : {R"("a")", R"("a-b")", R"("abc")", R"("a-1.b--c")", R"("ab-cd-e")", R"("a1-2")"})
    EXPECT_TRUE(name.accepts(text)) << text;
  for (const char* text : {R"("xn--X")", R"("ab--c")", R"("x.Tb---c")", R"("-a")", R"("a-")", R"("ab--")"})
    EXPECT_FALSE(name.accepts(text)) << text;
  EXPECT_TRUE(name.accepts('"' + std::string(63, 'a') + '"'));
  EXPECT_FALSE(name.accepts('"' + std::string(64, 'a') + '"'));
  EXPECT_FALSE(checked_schema(R"({"type":"string","format":"email"})").accepts(R"("a@müller.example")"));
}

// What a format may have besides is neither let through nor taken for something else.
TEST(JsonSchema, AFormatThatIsLetThroughInPartIsDeniedInWhole) {
  struct denied {
    const char* schema;
    const char* accepted;
    const char* rejected;
  };
  for (const auto& [schema, accepted, rejected] :
       {denied{R"({"not":{"format":"email"}})", R"("joe")", R"("\"joe bloggs\"@example.com")"},
        {R"({"not":{"format":"date-time"}})", R"("2020-01-01")", R"("2020-01-01t00:00:00z")"},
        {R"({"not":{"format":"time"}})", R"("noon")", R"("23:59:60Z")"},
        {R"({"type":"string","not":{"format":"date"}})", R"("2020-02-30")", R"("2020-02-29")"},
        {R"({"oneOf":[{"type":"string","format":"email"},{"type":"string"}]})", R"("joe")",
         R"("a@[127.0.0.1]")"},
        {R"({"oneOf":[{"type":"string","format":"email"},{"type":"string"}]})", R"("b")", R"("a@b")"},
        {R"({"if":{"format":"email"},"then":{"maxLength":4},"else":{"pattern":"x"}})", R"("a@b")",
         R"("x@[]")"},
        {R"({"not":{"format":"date"}})", R"("x")", R"("0000-01-01")"},
        {R"({"not":{"anyOf":[{"format":"email"},{"format":"time"}]}})", R"("joe")", R"("23:59:60Z")"},
        {R"({"type":"string","not":{"allOf":[{"format":"email"},{"format":"idn-email"}]}})", R"("joe")",
         R"("a@[]")"},
        {R"({"type":"object","not":{"propertyNames":{"format":"email"}}})", R"({"joe":1})",
         R"({"\"joe bloggs\"@b":1})"},
        {R"({"type":"object","not":{"not":{"propertyNames":{"format":"email"}}}})", R"({"a@b":1})",
         R"({"\"joe bloggs\"@b":1})"},
        {R"({"not":{"not":{"format":"email"}}})", R"("a@b")", R"("a b")"}}) {
    const checked_schema read(schema);
    EXPECT_TRUE(read.accepts(accepted)) << schema;
    EXPECT_FALSE(read.accepts(rejected)) << schema;
  }
}

}  // namespace
}  // namespace troupe::json_schema
