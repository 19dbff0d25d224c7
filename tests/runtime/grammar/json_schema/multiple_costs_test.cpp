// Multiples beside other multiples, bounds and denied ones: what a mask takes.
#include <gtest/gtest.h>

#include <string>
#include <utility>
#include <vector>

#include "runtime/grammar/json_schema/json_schema.hpp"
#include "runtime/grammar/matcher.hpp"

namespace troupe::json_schema {
namespace {

// At the beginning and behind each byte of the text.
void expect_masks_within(const std::string& schema, const std::string& text, std::uint64_t steps) {
  auto builder = read_json_schema(schema);
  ASSERT_TRUE(builder) << builder.error().message;
  const auto compiled = grammar::compile(std::move(*builder), grammar::byte_token_trie());
  ASSERT_TRUE(compiled) << compiled.error().message;
  grammar::matcher matcher(*compiled);
  std::vector<std::uint32_t> mask(grammar::byte_token_trie()->num_words());
  for (std::size_t i = 0; i <= text.size(); ++i) {
    const auto filled = matcher.fill_mask(mask);
    ASSERT_TRUE(filled) << schema << ": " << filled.error().message;
    EXPECT_LT(matcher.steps_spent(), steps) << schema << " at " << text.substr(0, i);
    if (i < text.size()) {
      ASSERT_TRUE(matcher.accept(static_cast<unsigned char>(text[i]))) << text;
    }
  }
  EXPECT_TRUE(matcher.can_end().value_or(false)) << schema << ": " << text;
}

TEST(MultipleCosts, OfSeveralMultiplesAreThoseOfArithmetic) {
  expect_masks_within(R"({"allOf":[{"multipleOf":997},{"multipleOf":1000}]})", "997000", 5000);
  expect_masks_within(R"({"multipleOf":997,"not":{"multipleOf":300}})", "1994", 15'000);
  expect_masks_within(R"({"multipleOf":997,"oneOf":[{"multipleOf":300},{"multipleOf":7}]})", "6979", 30'000);
}

TEST(MultipleCosts, BehindANotAreThoseOfWhatIsDeniedWithoutItsMultiples) {
  expect_masks_within(R"({"multipleOf":13,"not":{"exclusiveMinimum":5,"multipleOf":12.5}})", "2600013",
                      50'000);
  expect_masks_within(R"({"multipleOf":300,"not":{"type":"integer","maximum":1000,"multipleOf":0.25}})",
                      "1200", 50'000);
  expect_masks_within(R"({"type":"number","multipleOf":1000,"not":{"type":"integer","maximum":5}})", "3000",
                      50'000);
}

TEST(MultipleCosts, ThatAMaskMayHaveAreNotRefused) {
  for (const auto& [multiple, denied] :
       {std::pair{12, 6}, {9, 3}, {15, 5}, {12, 4}, {30, 15}, {24, 12}, {48, 24}}) {
    const std::string schema = R"({"type":"integer","multipleOf":)" + std::to_string(multiple) +
                               R"(,"if":{"multipleOf":)" + std::to_string(denied) +
                               R"(},"then":{"maximum":500}})";
    expect_masks_within(schema, std::to_string(7 * multiple), 1'000'000);
  }
  // Places that each may take so many, and together more.
  grammar::grammar_limits small;
  small.max_mask_steps = 200'000;
  EXPECT_TRUE(read_json_schema(
      R"({"type":"integer","multipleOf":12,"if":{"multipleOf":6},"then":{"maximum":500}})", {}, small));
}

TEST(MultipleCosts, ThatNoMaskMayHaveAreRefusedWithThePlaceOfTheSchema) {
  const std::string costly =
      R"({"type":"number","multipleOf":1e6,"not":{"type":"integer","minimum":1e9,"multipleOf":1000}})";
  const auto built = read_json_schema(R"({"properties":{"a":{"multipleOf":7},"b":)" + costly + "}}");
  ASSERT_FALSE(built);
  EXPECT_EQ(built.error().message,
            "JSON Schema, at \"/properties/b\": this has a multipleOf that takes more than max_mask_steps to "
            "follow beside its other words");
  EXPECT_EQ(built.error().code, error_code::unsupported);
  EXPECT_EQ(built.error().param, "/properties/b");
}

}  // namespace
}  // namespace troupe::json_schema
