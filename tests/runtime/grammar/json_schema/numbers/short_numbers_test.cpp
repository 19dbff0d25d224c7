// Where numbers are kept short, and that what is left is allowed and something is left.
#include "runtime/grammar/json_schema/numbers/short_numbers.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/specification/compile_spec.hpp"
#include "runtime/token_bits.hpp"
#include "tests/runtime/grammar/byte_matcher_fixture.hpp"
#include "tests/runtime/grammar/json_schema/checked_schema.hpp"

namespace troupe::json_schema {
namespace {

using grammar::test::accepts;

constexpr schema_options long_or_short{.max_white_space = 0};
constexpr schema_options only_short{.max_white_space = 0, .short_numbers = true};
const std::string eighteen = "123456789012345678", twenty = "12345678901234567890";

TEST(short_numbers, are_those_that_programs_hold) {
  for (const char* schema : {R"({"type":"number"})", R"({"type":["number","string"],"minimum":-5.5})", "true",
                             R"({"anyOf":[{"type":"number"},{"type":"integer"}]})"}) {
    const checked_schema any(schema, long_or_short), held(schema, only_short);
    for (const std::string& number : {eighteen + "." + twenty, eighteen + ".5", std::string("12345.5e30")})
      EXPECT_TRUE(any.accepts(number) && held.accepts(number)) << schema << number;
    for (const std::string& number : {eighteen + "9.5", eighteen + "." + twenty + "1", "0." + twenty + "1"}) {
      EXPECT_TRUE(any.accepts(number)) << schema << number;
      EXPECT_FALSE(held.accepts(number)) << schema << number;
    }
  }
  const checked_schema integers(R"({"type":"integer"})", only_short);
  EXPECT_TRUE(integers.accepts("-" + eighteen));
  EXPECT_FALSE(integers.accepts(twenty));
}

const std::string last_signed = "9223372036854775807", last_unsigned = "18446744073709551615";

TEST(short_numbers, have_every_whole_one_of_64_bits_with_a_sign) {
  for (const char* schema : {R"({"type":"integer"})", R"({"type":"integer","format":"int64"})",
                             R"({"type":"number"})", R"({"type":["integer","null"],"minimum":-1e30})", "true",
                             R"({"oneOf":[{"type":"integer"},{"const":0.5}]})"}) {
    const checked_schema held(schema, only_short);
    for (const std::string& number :
         {eighteen + "9", "-" + eighteen + "9", std::string("1000000000000000000"), last_signed,
          std::string("-9223372036854775808")})
      EXPECT_TRUE(held.accepts(number)) << schema << number;
    for (const char* number : {"9223372036854775808", "-9223372036854775809", "9999999999999999999",
                               "1234567890123456789.5", "1234567890123456789e2", "12345678901234567890"})
      EXPECT_FALSE(held.accepts(number)) << schema << number;
  }
}

TEST(short_numbers, have_those_without_a_sign_where_bounds_leave_no_greater_ones) {
  for (const char* schema :
       {R"({"type":"integer","minimum":0,"maximum":18446744073709551615})",
        R"({"type":"integer","exclusiveMaximum":18446744073709551616})",
        R"({"type":"number","maximum":18446744073709551615})",
        R"({"allOf":[{"type":"integer"},{"minimum":1},{"maximum":18446744073709551615}]})"}) {
    const checked_schema held(schema, only_short);
    for (const std::string& number :
         {std::string("7"), eighteen, last_signed, std::string("9223372036854775808"), last_unsigned})
      EXPECT_TRUE(held.accepts(number)) << schema << number;
    EXPECT_FALSE(held.accepts("18446744073709551616")) << schema;
  }
  const checked_schema half(R"({"type":"integer","maximum":10000000000000000000})", only_short);
  EXPECT_TRUE(half.accepts("10000000000000000000"));
  EXPECT_FALSE(half.accepts("10000000000000000001"));
}

// What one place says of its numbers says nothing of another's.
TEST(short_numbers, without_a_sign_are_those_of_their_place_alone) {
  const checked_schema both(R"({"type":"array","minItems":2,"items":{"type":"integer"},
                                "prefixItems":[{"type":"integer","maximum":18446744073709551615}]})",
                            only_short);
  EXPECT_TRUE(both.accepts("[" + last_unsigned + "," + last_signed + "]"));
  EXPECT_FALSE(both.accepts("[" + last_unsigned + "," + last_unsigned + "]"));
  const checked_schema either(R"({"anyOf":[{"type":"integer"},{"maximum":18446744073709551615}]})",
                              only_short);
  EXPECT_TRUE(either.accepts(last_signed));
  EXPECT_FALSE(either.accepts(last_unsigned));
}

// The shortest texts that read back the same, as Python and JavaScript write them.
TEST(short_numbers, have_those_of_every_double_that_is_written_without_an_exponent) {
  const checked_schema held(R"({"type":"number"})", only_short);
  for (const char* number : {"0.00012345678901234567", "0.30000000000000004", "9007199254740993", "1e-07",
                             "1.7976931348623157e+308", "2.2250738585072014e-308", "-1234567890123456.8"})
    EXPECT_TRUE(held.accepts(number)) << number;
}

TEST(short_numbers, give_way_to_those_that_the_schema_names) {
  const checked_schema named(R"({"enum":[1,12345678901234567890,{"a":[123456789012345678901]},1e-30]})",
                             only_short);
  for (const char* number : {"1", "12345678901234567890", R"({"a":[123456789012345678901]})", "1e-30",
                             "0.000000000000000000000000000001"})
    EXPECT_TRUE(named.accepts(number)) << number;
  const checked_schema beside(R"({"anyOf":[{"const":12345678901234567890},{"type":"integer"}]})", only_short);
  EXPECT_TRUE(beside.accepts(twenty));
  EXPECT_FALSE(beside.accepts(twenty.substr(0, 19) + "7"));
}

TEST(short_numbers, that_are_named_by_thousands_cost_little_more) {
  json ids = json::array();
  for (std::uint64_t i = 0; i < 5'000; ++i) ids.push_back(1'700'000'000'000'000'000U + i * 977);
  const std::string schema = json({{"type", "array"}, {"items", {{"enum", ids}}}}).dump();
  const auto nodes = [&schema](const schema_options& options) {
    const auto builder = read_json_schema(schema, options);
    return builder ? builder->regex().size() : 0;
  };
  EXPECT_GT(nodes(only_short), 0U);
  EXPECT_LT(nodes(only_short), nodes(long_or_short) + 500);
  EXPECT_TRUE(checked_schema(schema, only_short).accepts("[1700000000000000977,1700000000004884023]"));
  EXPECT_FALSE(checked_schema(schema, only_short).accepts("[1700000000000000978]"));
}

// Whatever leaves only long ones, however it is said.
TEST(short_numbers, give_way_where_there_are_no_others) {
  constexpr schema_options plain{.max_white_space = 0, .plain_integers = true, .short_numbers = true};
  for (const char* schema :
       {R"({"type":"integer","minimum":1e20})", R"({"type":"integer","not":{"maximum":1e20}})",
        R"({"$defs":{"s":{"maximum":1e20}},"type":"integer","not":{"$ref":"#/$defs/s"}})",
        R"({"$defs":{"u":{"type":"integer","minimum":0,"maximum":1e20}},
            "oneOf":[{"$ref":"#/$defs/u"},{"type":"integer","minimum":0}]})"})
    EXPECT_TRUE(checked_schema(schema, plain).accepts(twenty + "000")) << schema;
  const checked_schema items(R"({"type":"array","items":{"type":"integer"},"contains":{"maximum":1e20},
                                 "maxContains":1,"minItems":2,"maxItems":2})",
                             plain);
  EXPECT_TRUE(items.accepts("[1," + twenty + "000]"));
}

// More alternatives than a search for a text of theirs looks through.
TEST(short_numbers, are_found_among_many_ranges) {
  json ranges = json::array();
  for (int i = 0; i < 100; ++i) ranges.push_back({{"type", "number"}, {"minimum", i}, {"maximum", i + 0.5}});
  const checked_schema held(json({{"anyOf", ranges}}).dump(), only_short);
  EXPECT_TRUE(held.accepts("0." + std::string(20, '0')));
  EXPECT_FALSE(held.accepts("0." + std::string(21, '0')));
}

// Words that leave short ones leave no long ones, there and beside.
TEST(short_numbers, stay_short_whatever_else_is_said) {
  for (const char* schema :
       {R"({"type":"integer","minimum":0,"maximum":18446744073709551615000})",
        R"({"type":"integer","examples":[123456789012345678901],"default":12345678901234567890})",
        R"({"type":"number","exclusiveMinimum":1e-30})",
        R"({"definitions":{"a":{"oneOf":[{"type":"number"},{"maximum":1e20}]}},"type":"integer"})",
        R"({"type":"number","minimum":2.2250738585072014e-308,"maximum":1.7976931348623157e308})"}) {
    const checked_schema any(schema, long_or_short), held(schema, only_short);
    EXPECT_TRUE(held.accepts(eighteen)) << schema;
    EXPECT_TRUE(any.accepts(twenty)) << schema;
    EXPECT_FALSE(held.accepts(twenty)) << schema;
  }
}

json random_number(std::mt19937& random) {
  static const std::vector<json> numbers{
      0,     1,    -3,  7,    20,   0.5,  2.25,  -0.125, 1e5,   123456789, 99999999999999999, -1e17, 1e30,
      -1e30, 1e-9, 0.1, 1e-5, 1e16, 1e18, 1e-21, 12.5,   1e-17, 9.5e17};
  return numbers[random() % numbers.size()];
}

json schema_of_numbers(std::mt19937& random, int depth) {
  json schema = json::object();
  if (random() % 2 == 0) schema["type"] = random() % 3 == 0 ? "integer" : "number";
  for (const char* word : {"minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"})
    if (random() % 5 == 0) schema[word] = random_number(random);
  if (random() % 6 == 0) {
    json step = random_number(random);
    if (step > 0) schema["multipleOf"] = std::move(step);
  }
  if (random() % 8 == 0) schema["enum"] = json::array({random_number(random), random_number(random)});
  if (depth <= 0) return schema;
  const auto part = [&] { return schema_of_numbers(random, depth - 1); };
  switch (random() % 8) {
    case 0:
      schema["not"] = part();
      break;
    case 1:
      schema["anyOf"] = json::array({part(), part()});
      break;
    case 2:
      schema["allOf"] = json::array({part(), part()});
      break;
    case 3:
      schema["oneOf"] = json::array({part(), part()});
      break;
    case 4:
      schema["if"] = part(), schema["then"] = part(), schema["else"] = part();
      break;
    default:
      break;
  }
  return schema;
}

// A text of the grammar of bytes; nothing where it does not end soon.
std::optional<std::string> number_of(const grammar::compiled_grammar_ptr& of, std::mt19937& random) {
  constexpr token_id end = 256;
  grammar::matcher at(of);
  std::vector<std::uint32_t> mask(of->vocabulary().num_words());
  for (std::string text; text.size() < 60;) {
    if (!at.fill_mask(mask)) return std::nullopt;
    std::vector<token_id> allowed;
    for (const char c : std::string_view("0123456789.-e+"))
      if (has_token(mask, c)) allowed.push_back(c);
    if (has_token(mask, end) && (random() % 8 == 0 || allowed.empty())) return text;
    if (allowed.empty()) return std::nullopt;
    const token_id next = allowed[random() % allowed.size()];
    if (!at.accept(next)) return std::nullopt;
    text.push_back(static_cast<char>(next));
  }
  return std::nullopt;
}

std::size_t leading_digits(std::string_view number) {
  if (number.starts_with('-')) number.remove_prefix(1);
  return std::min(number.find_first_of(".eE"), number.size());
}

TEST(short_numbers, are_allowed_and_no_schema_is_left_without_values) {
  std::mt19937 random(5);
  int short_ones = 0, texts = 0;
  for (int round = 0; round < 1'500; ++round) {
    const json schema = schema_of_numbers(random, 2);
    const auto any =
        grammar::compile(grammar::schema_spec(schema.dump(), long_or_short), grammar::byte_token_trie(), {});
    const auto held =
        grammar::compile(grammar::schema_spec(schema.dump(), only_short), grammar::byte_token_trie(), {});
    if (!any) continue;
    ASSERT_TRUE(held) << schema << held.error().message;
    for (int i = 0; i < 4; ++i) {
      const auto text = number_of(*held, random);
      if (!text) continue;
      ++texts;
      ASSERT_EQ(accepts(*any, *text), true) << schema << "\n" << *text;
      short_ones += leading_digits(*text) <= 18 ? 1 : 0;
    }
  }
  EXPECT_GT(texts, 1500);
  EXPECT_GT(short_ones, texts * 3 / 4);
}

}  // namespace
}  // namespace troupe::json_schema
