#include "runtime/grammar/json_schema/numbers/number_language.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <random>
#include <string>

#include "runtime/json/exact_number.hpp"

namespace troupe::json_schema {
namespace {

bool matches(regex_store& store, regex_id r, const std::string& text) {
  grammar::step_budget budget(1'000'000);
  return store.matches(r, text, budget).value();
}

decimal read(const std::string& text) { return to_decimal(json::parse(text)); }

// As it is written, however many digits that has.
decimal read_exactly(const std::string& text) { return to_decimal(keep_number(text)); }

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

std::string some_digits(std::mt19937& random, std::size_t most) {
  std::string out;
  for (std::size_t size = 1 + random() % most; out.size() < size;)
    out += random() % 3 == 0 ? '0' : static_cast<char>('0' + random() % 10);
  return out;
}

// -12, 0.00340, 9071992547409930.0
std::string some_number(std::mt19937& random, std::size_t most_digits) {
  std::string whole = random() % 3 == 0 ? "0" : some_digits(random, most_digits);
  if (whole.size() > 1 && whole.front() == '0') whole.front() = '7';
  const std::string fraction = random() % 3 == 0 ? "" : "." + some_digits(random, most_digits);
  return (random() % 4 == 0 ? "-" : "") + whole + fraction;
}

std::size_t counting_digits(const decimal& number) {
  const std::string digits = number.whole + number.fraction;
  return digits.find_last_not_of('0') + 1 - std::min(digits.find_first_not_of('0'), digits.size());
}

TEST(NumberLanguage, TextsThatAreExactlyReadAreWhatADoubleSays) {
  std::mt19937 random(11);
  regex_store store;
  const json_text text(store);
  const regex_id exact = exactly_read(store, text);
  std::size_t shortened = 0;
  for (int round = 0; round < 10'000; ++round) {
    const std::string number = some_number(random, round % 2 == 0 ? 20 : 9);
    const decimal said = read_exactly(number), meant = to_decimal(json(std::strtod(number.c_str(), nullptr)));
    const bool has_point = number.find('.') != std::string::npos;
    const bool is_exact = matches(store, exact, number);
    const std::size_t digits = counting_digits(said);
    const bool has_idle_zeros = has_point && number.back() == '0' && !number.ends_with(".0");
    if (has_idle_zeros) {
      EXPECT_FALSE(is_exact) << number;
    } else if (!has_point || (said.whole.size() <= 15 && digits <= 15)) {
      EXPECT_TRUE(is_exact) << number;
    } else if (is_exact && (said.is_integer() || digits > 17)) {
      EXPECT_EQ(compare(said, meant), 0) << number;
    }
    shortened += compare(said, meant) != 0 && is_exact ? 1 : 0;
  }
  EXPECT_GT(shortened, 200U) << "whole numbers without a point, and some of 16 and 17 digits";
  EXPECT_FALSE(matches(store, exact, "0." + std::string(400, '0')));
  EXPECT_FALSE(matches(store, exact, "0." + std::string(400, '0') + "1"));
  for (const char* large :
       {"4503599627370495.5", "4503599627370497.0", "9007199254740991.0", "9007199254740994.0"})
    EXPECT_TRUE(matches(store, exact, large)) << large;
  for (const char* large : {"4503599627370497.5", "2251799813685249.2", "1125899906842625.1",
                            "9007199254740993.0", "9007199254740994.5", "90071992547409940.0"})
    EXPECT_FALSE(matches(store, exact, large)) << large;
}

// As Python's json.dumps, without an exponent from 1e-4 to 1e16.
TEST(NumberLanguage, WhatIsWrittenForADoubleIsExactlyRead) {
  std::mt19937_64 random(17);
  regex_store store;
  const json_text text(store);
  const regex_id exact = exactly_read(store, text);
  for (int round = 0; round < 10'000; ++round) {
    const double number =
        std::ldexp(1.0 + static_cast<double>(random() >> 12) * 0x1p-52, static_cast<int>(random() % 66) - 13);
    if (number < 1e-4 || number >= 1e16) continue;
    std::string written = to_text(to_decimal(json(number)));
    if (written.find('.') == std::string::npos) written += ".0";
    EXPECT_TRUE(matches(store, exact, written)) << written;
  }
}

TEST(NumberLanguage, MultiplesWithAPointAreMultiplesAsDoubles) {
  std::mt19937 random(13);
  std::size_t seen = 0;
  for (int round = 0; round < 300; ++round) {
    regex_store store;
    const json_text text(store);
    const int step = 1 + static_cast<int>(random() % 30);
    const regex_id multiples = store.intersection(
        {multiples_of(store, text, read(std::to_string(step))).value(), exactly_read(store, text)});
    for (int trial = 0; trial < 200; ++trial) {
      const std::string number = some_number(random, 20) + (random() % 2 == 0 ? ".0" : "");
      if (number.find('.') == std::string::npos || !matches(store, multiples, number)) continue;
      EXPECT_EQ(std::fmod(std::strtod(number.c_str(), nullptr), step), 0) << number << " by " << step;
      ++seen;
    }
  }
  EXPECT_GT(seen, 500U);
}

TEST(NumberLanguage, AStepWithTooManyDigitsHasNoExpression) {
  regex_store store;
  const json_text text(store);
  EXPECT_FALSE(multiples_of(store, text, read("1e200")).has_value());
  EXPECT_FALSE(multiples_of(store, text, read("1e-200")).has_value());
}

}  // namespace
}  // namespace troupe::json_schema
