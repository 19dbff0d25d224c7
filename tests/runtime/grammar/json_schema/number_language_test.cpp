#include "runtime/grammar/json_schema/number_language.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <random>
#include <string>

namespace troupe::json_schema {
namespace {

bool matches(regex_store& store, regex_id r, const std::string& text) {
  grammar::step_budget budget(1'000'000);
  return store.matches(r, text, budget).value();
}

decimal read(const std::string& text) { return to_decimal(json::parse(text)); }

// -12.3, 7, 0.05, 400.25: hundredths, so that sums are exact.
std::string hundredths(int value) {
  const int size = std::abs(value);
  std::string out = std::string(value < 0 ? "-" : "") + std::to_string(size / 100);
  if (size % 100 != 0) out += std::string(".") + (size % 100 < 10 ? "0" : "") + std::to_string(size % 100);
  if (out.find('.') != std::string::npos && out.back() == '0') out.pop_back();
  return out;
}

int near(std::mt19937& random, int value) {
  return random() % 3 == 0 ? value + static_cast<int>(random() % 5) - 2
                           : static_cast<int>(random() % 20'000) - 10'000;
}

TEST(Decimal, IsWhatTheSchemaSaysAndNotWhatADoubleHolds) {
  EXPECT_EQ(read("0.1").fraction, "1");
  EXPECT_EQ(read("-1.50").fraction, "5");
  EXPECT_TRUE(read("-1.50").negative);
  EXPECT_EQ(read("1e3").whole, "1000");
  EXPECT_EQ(read("25e-4").fraction, "0025");
  EXPECT_EQ(read("18446744073709551615").whole, "18446744073709551615");
  EXPECT_EQ(read("1e308").whole.size(), 309U);
  EXPECT_FALSE(read("-0.0").negative);
  EXPECT_TRUE(read("-0.0").is_zero());
}

TEST(Decimal, ComparesByValue) {
  std::mt19937 random(3);
  for (int round = 0; round < 5000; ++round) {
    const int a = static_cast<int>(random() % 20'000) - 10'000;
    const int b = near(random, a);
    const int order = compare(read(hundredths(a)), read(hundredths(b)));
    EXPECT_EQ(order < 0, a < b) << a << ' ' << b;
    EXPECT_EQ(order == 0, a == b) << a << ' ' << b;
  }
}

TEST(NumberLanguage, BoundsLetThroughExactlyTheNumbersWithin) {
  std::mt19937 random(5);
  for (int round = 0; round < 600; ++round) {
    regex_store store;
    const json_text text(store);
    const int bound = static_cast<int>(random() % 6000) - 3000;
    const int value = near(random, bound);
    const bool exclusive = random() % 2 == 0;
    const decimal limit = read(hundredths(bound));
    const std::string spelled = hundredths(value) + (value % 100 != 0 && random() % 2 == 0 ? "0" : "");
    EXPECT_EQ(matches(store, at_least(store, text, limit, exclusive), spelled),
              exclusive ? value > bound : value >= bound)
        << spelled << " from " << bound;
    EXPECT_EQ(matches(store, at_most(store, text, limit, exclusive), spelled),
              exclusive ? value < bound : value <= bound)
        << spelled << " to " << bound;
  }
}

TEST(NumberLanguage, ZeroHasASignThatDoesNotCount) {
  regex_store store;
  const json_text text(store);
  const decimal zero;
  EXPECT_TRUE(matches(store, at_least(store, text, zero, false), "-0"));
  EXPECT_FALSE(matches(store, at_least(store, text, zero, true), "-0.0"));
  EXPECT_FALSE(matches(store, at_most(store, text, zero, true), "-0"));
  EXPECT_TRUE(matches(store, equal_to(store, zero), "-0.00"));
}

TEST(NumberLanguage, EqualNumbersInEverySpelling) {
  regex_store store;
  for (const char* text : {"7", "7.0", "7.000"})
    EXPECT_TRUE(matches(store, equal_to(store, read("7")), text));
  for (const char* text : {"-7", "07", "7.", "7.01", "70"})
    EXPECT_FALSE(matches(store, equal_to(store, read("7")), text));
  EXPECT_TRUE(matches(store, equal_to(store, read("-2.5")), "-2.50"));
  EXPECT_FALSE(matches(store, equal_to(store, read("-2.5")), "-2"));
}

TEST(NumberLanguage, MultiplesOfHundredthsAreExact) {
  std::mt19937 random(9);
  for (int round = 0; round < 600; ++round) {
    regex_store store;
    const json_text text(store);
    const int step = 1 + static_cast<int>(random() % 400);
    const int value = random() % 2 == 0 ? step * (static_cast<int>(random() % 60) - 30)
                                        : static_cast<int>(random() % 4000) - 2000;
    const auto multiples = multiples_of(store, text, read(hundredths(step)));
    ASSERT_TRUE(multiples.has_value());
    EXPECT_EQ(matches(store, *multiples, hundredths(value)), value % step == 0) << value << " by " << step;
  }
}

TEST(NumberLanguage, AStepWithTooManyDigitsHasNoExpression) {
  regex_store store;
  const json_text text(store);
  EXPECT_FALSE(multiples_of(store, text, read("1e200")).has_value());
  EXPECT_FALSE(multiples_of(store, text, read("1e-200")).has_value());
}

}  // namespace
}  // namespace troupe::json_schema
