#include <gtest/gtest.h>

#include <cstdint>
#include <random>
#include <string>

#include "runtime/grammar/regex_store.hpp"

namespace troupe::grammar {
namespace {

bool matches(regex_store& store, regex_id r, const std::string& text) {
  step_budget budget(100'000);
  return store.matches(r, text, budget).value();
}

TEST(MultipleOf, MatchesExactlyTheDigitsOfMultiples) {
  std::mt19937_64 random(7);
  for (int round = 0; round < 2000; ++round) {
    regex_store store;
    const std::uint64_t divisor = 1 + random() % (std::uint64_t{1} << (random() % 40));
    const std::uint64_t number = random() % 2 == 0 ? random() >> 20 : divisor * (random() % 1000);
    const regex_id r = store.multiple_of(divisor);
    EXPECT_EQ(matches(store, r, std::to_string(number)), number % divisor == 0)
        << number << " by " << divisor;
  }
}

TEST(MultipleOf, SkipsPointsAndRefusesEverythingElse) {
  regex_store store;
  const regex_id r = store.multiple_of(25);
  EXPECT_TRUE(matches(store, r, "1.25"));
  EXPECT_FALSE(matches(store, r, "1.26"));
  EXPECT_FALSE(matches(store, r, "-25"));
  EXPECT_FALSE(matches(store, r, "2 5"));
}

TEST(MultipleOf, IsFoundToMeetAnotherExpressionOrNot) {
  regex_store store;
  step_budget budget(1'000'000);
  const regex_id seven = store.multiple_of(7);
  EXPECT_FALSE(store.is_nothing(store.intersection({seven, store.literal("700021")}), budget).value());
  EXPECT_TRUE(store.is_nothing(store.intersection({seven, store.literal("700022")}), budget).value());
}

TEST(MultipleOf, OfADivisorOutOfRangeIsNothing) {
  regex_store store;
  EXPECT_EQ(store.multiple_of(0), store.nothing());
  EXPECT_EQ(store.multiple_of((std::uint64_t{1} << 59) + 1), store.nothing());
  EXPECT_TRUE(matches(store, store.multiple_of(std::uint64_t{1} << 59), "576460752303423488"));
}

// Every number of so many digits behind what was read, tried one by one.
bool some_number_fits(std::uint64_t divisor, std::uint64_t read, int least, int most) {
  std::uint64_t numbers = 1;
  for (int digits = 0; digits <= most; ++digits, numbers *= 10)
    for (std::uint64_t rest = 0; digits >= least && rest < numbers; ++rest)
      if ((read * numbers + rest) % divisor == 0) return true;
  return false;
}

TEST(MultipleOf, IsToldToBeOutOfReachWhereNoDigitsLeadToIt) {
  std::mt19937_64 random(5);
  std::size_t possible = 0;
  constexpr std::size_t trials = 2000;
  for (std::size_t i = 0; i < trials; ++i) {
    const std::uint64_t divisor = 1 + random() % (i % 2 == 0 ? 100 : 20'000), read = random() % 100'000;
    const int least = static_cast<int>(random() % 4), most = least + static_cast<int>(random() % (5 - least));
    const bool has_point = random() % 2 == 0;
    regex_store store;
    const regex_id digit = store.bytes(byte_set::range('0', '9'));
    regex_id shape = store.repeat(digit, static_cast<std::uint32_t>(least), static_cast<std::uint32_t>(most));
    if (has_point) shape = store.concat({store.repeat(digit, 0, 0), store.literal("."), shape});
    step_budget budget(10'000);
    regex_id r = store.multiple_of(divisor);
    for (const char c : std::to_string(read)) r = store.derivative(r, static_cast<unsigned char>(c), budget);
    const bool expected = some_number_fits(divisor, read, least, most);
    possible += expected ? 1 : 0;
    EXPECT_EQ(store.is_nothing(store.intersection({shape, r}), budget), !expected)
        << divisor << ' ' << read << ' ' << least << ' ' << most;
  }
  EXPECT_GT(possible, trials / 5);
  EXPECT_LT(possible, trials * 4 / 5);
}

TEST(MultipleOf, OfALargeNumberIsFoundWithoutASearch) {
  regex_store store;
  const regex_id digit = store.bytes(byte_set::range('0', '9'));
  const regex_id whole = store.concat({store.bytes(byte_set::range('1', '9')), store.star(digit)});
  const regex_id shape = store.concat({whole, store.literal("."), store.repeat(digit, 18, 18)});
  const regex_id r = store.intersection({shape, store.multiple_of(123'456'789'012'345'678)});
  step_budget budget(100);
  EXPECT_EQ(store.is_nothing(r, budget), false);
}

}  // namespace
}  // namespace troupe::grammar
