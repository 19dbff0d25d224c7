#include "runtime/grammar/regex/congruences.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

namespace troupe::grammar {
namespace {

bool holds(const congruence& c, std::uint64_t power_of_ten, std::uint64_t number) {
  return (c.remainder * power_of_ten + number) % c.divisor == 0;
}

bool some_by_trying(const digit_counts& counts, const std::vector<congruence>& all_of,
                    const std::vector<congruence>& none_of) {
  std::uint64_t numbers = 1;
  for (std::uint32_t digits = 0; digits <= counts.most; ++digits, numbers *= 10)
    for (std::uint64_t number = 0; digits >= counts.least && number < numbers; ++number) {
      const auto fits = [&](const congruence& c) { return holds(c, numbers, number); };
      if (std::ranges::all_of(all_of, fits) && std::ranges::none_of(none_of, fits)) return true;
    }
  return false;
}

std::vector<congruence> random_congruences(std::mt19937_64& random, std::size_t most, std::uint64_t largest) {
  std::vector<congruence> out(random() % (most + 1));
  for (congruence& each : out) {
    each.divisor = 1 + random() % largest;
    each.remainder = random() % each.divisor;
  }
  return out;
}

TEST(Congruences, HaveDigitsExactlyWhereTryingAllFindsSomeIfNoneAreDenied) {
  std::mt19937_64 random(3);
  std::size_t found = 0;
  constexpr std::size_t rounds = 3000;
  for (std::size_t i = 0; i < rounds; ++i) {
    const auto least = static_cast<std::uint32_t>(random() % 4);
    const digit_counts counts{least, least + static_cast<std::uint32_t>(random() % 2)};
    const auto all_of = random_congruences(random, 3, 60);
    const bool expected = some_by_trying(counts, all_of, {});
    found += expected ? 1 : 0;
    EXPECT_EQ(some_digits(counts, all_of, {}), expected);
  }
  EXPECT_GT(found, rounds / 5);
  EXPECT_LT(found, rounds * 4 / 5);
}

TEST(Congruences, ThatAreDeniedAreNeverThoughtToLeaveSomeWhereTheyDoNot) {
  std::mt19937_64 random(4);
  std::size_t found = 0, told = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto least = static_cast<std::uint32_t>(random() % 4);
    const digit_counts counts{least, least + static_cast<std::uint32_t>(random() % 2)};
    const auto all_of = random_congruences(random, 2, 20), none_of = random_congruences(random, 3, 9);
    const bool expected = some_by_trying(counts, all_of, none_of);
    const bool answer = some_digits(counts, all_of, none_of);
    found += expected ? 1 : 0;
    told += answer ? 1 : 0;
    EXPECT_TRUE(expected || !answer);
  }
  EXPECT_GT(told, found * 3 / 4);
}

TEST(Congruences, OfLargeNumbersAreToldWithoutAProductThatOverflows) {
  const std::uint64_t large = (std::uint64_t{1} << 59) - 55;
  const std::vector<congruence> one{{large, large - 1}}, two{{large, 1}, {large - 2, 1}};
  EXPECT_TRUE(some_digits(any_count, one, {}));
  EXPECT_FALSE(some_digits({1, 3}, one, {}));
  EXPECT_FALSE(some_digits(any_count, two, {}));  // their common multiple is too large to tell
  EXPECT_TRUE(some_digits(any_count, {}, two));
}

}  // namespace
}  // namespace troupe::grammar
