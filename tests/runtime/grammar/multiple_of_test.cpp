#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

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

class digit_expressions {
 public:
  regex_id any(std::uint32_t least, std::uint32_t most = unbounded) {
    return store.repeat(store.bytes(byte_set::range('0', '9')), least, most);
  }
  regex_id multiples(std::uint64_t divisor, const std::string& read) {
    step_budget budget(10'000);
    regex_id r = store.multiple_of(divisor);
    for (const char c : read) r = store.derivative(r, static_cast<unsigned char>(c), budget);
    return store.concat({store.intersection({any(0), r}), store.optional(store.literal(".0"))});
  }
  // Nothing where the steps are not enough.
  std::optional<bool> is_nothing(const std::vector<regex_id>& parts, std::uint64_t steps) {
    step_budget budget(steps);
    return store.is_nothing(store.intersection(parts), budget);
  }

  regex_store store;
};

TEST(MultipleOf, BesideOthersAndDeniedOnesIsFoundAsBySearchingAllNumbers) {
  std::mt19937_64 random(11);
  for (int round = 0; round < 1000; ++round) {
    digit_expressions make;
    const std::uint64_t wanted = 1 + random() % 12, also = 1 + random() % 9, denied = 2 + random() % 5;
    const auto least = static_cast<std::uint32_t>(random() % 3),
               most = least + static_cast<std::uint32_t>(random() % 2);
    const std::string read = std::to_string(random() % 1000);
    const auto few = static_cast<std::uint32_t>(random() % 2);  // digits that are denied, too
    bool expected = true;
    std::uint64_t numbers = 1;
    for (std::uint32_t digits = 0; digits <= most; ++digits, numbers *= 10)
      for (std::uint64_t rest = 0; digits >= std::max(least, few + 1) && rest < numbers; ++rest) {
        const std::uint64_t number = std::stoull(read) * numbers + rest;
        if (number % wanted == 0 && number % also == 0 && number % denied != 0) expected = false;
      }
    const regex_id all_denied =
        make.store.alternation({make.multiples(denied, read), make.store.literal("x"), make.any(0, few)});
    EXPECT_EQ(make.is_nothing({make.any(least, most), make.multiples(wanted, read),
                               make.multiples(also, read), make.store.complement(all_denied)},
                              1'000'000),
              expected)
        << wanted << ' ' << also << ' ' << denied << ' ' << read << ' ' << least << ' ' << most << ' ' << few;
  }
}

TEST(MultipleOf, BesideOthersIsFoundWithoutASearch) {
  digit_expressions make;
  const regex_id wanted = make.multiples(9973, "1"), also = make.multiples(65'536, "1"),
                 denied = make.store.complement(make.multiples(1'000'000, "1"));
  EXPECT_EQ(make.is_nothing({wanted, also}, 100), false);
  EXPECT_EQ(make.is_nothing({wanted, also, denied}, 100), false);
}

TEST(MultipleOf, IsToldToBeNothingWhereTheOthersAreWithoutASearchAmongRemainders) {
  digit_expressions make;
  const regex_id wanted = make.multiples(9973, "1");
  const regex_id denied = make.store.concat({make.any(2), make.store.optional(make.store.literal(".0"))});
  EXPECT_EQ(make.is_nothing({make.any(3), wanted, make.store.complement(denied)}, 10'000), true);
  const regex_id in_part = make.store.intersection({denied, make.store.complement(make.multiples(7, "1"))});
  EXPECT_EQ(
      make.is_nothing({make.any(3, 5), make.multiples(97, "1"), make.store.complement(in_part)}, 100'000),
      false);
}

}  // namespace
}  // namespace troupe::grammar
