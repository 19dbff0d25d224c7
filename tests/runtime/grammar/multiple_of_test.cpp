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

}  // namespace
}  // namespace troupe::grammar
