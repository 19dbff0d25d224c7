#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/regex/regex_store.hpp"

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

// ---- whether there is any text ----

// Whether an expression with multiples has any text, told by arithmetic, by a search and by leaving
// remainders out: against all short texts, tried one by one.
constexpr std::string_view alphabet = "0123456789.-x";
constexpr std::uint32_t most_letters = 3;

std::vector<std::string> short_texts() {
  std::vector<std::string> all{""};
  std::size_t first = 0;
  for (std::uint32_t length = 1; length <= most_letters; ++length)
    for (const std::size_t end = all.size(); first < end; ++first)
      for (const char c : alphabet) all.push_back(all[first] + c);
  return all;
}

class expressions {
 public:
  expressions(regex_store& store, std::uint64_t seed) : store_(store), random_(seed) {}

  regex_id draw(int depth) {
    const std::uint64_t kind = random_() % (depth == 0 ? 5 : 11);
    switch (kind) {
      case 0:
        return store_.bytes(digits);
      case 1:
        return store_.repeat(store_.bytes(digits), pick(3), pick(2) == 0 ? unbounded : 2 + pick(3));
      case 2:
        return behind(store_.multiple_of(1 + random_() % 30), pick(3));
      case 3:
        return store_.literal(literals[pick(literals.size())]);
      case 4:
        return store_.bytes(byte_set::range('1', '9') | byte_set::of('.'));
      case 5:
      case 6:
        return store_.concat({draw(depth - 1), draw(depth - 1)});
      case 7:
        return store_.alternation({draw(depth - 1), draw(depth - 1)});
      case 8:
        return store_.intersection({draw(depth - 1), draw(depth - 1)});
      case 9:
        return store_.complement(draw(depth - 1));
      default:
        return store_.repeat(draw(depth - 1), pick(3), 2 + pick(2));
    }
  }

  // What schemas make: multiples and numbers of digits that a text has to have, or must not have.
  regex_id draw_conditions() {
    std::vector<regex_id> all;
    for (std::uint32_t left = 2 + pick(3); left > 0; --left) {
      const regex_id condition =
          pick(3) == 0 ? store_.alternation({draw_condition(), draw_condition()}) : draw_condition();
      all.push_back(pick(3) == 0 ? store_.complement(condition) : condition);
    }
    return store_.concat({store_.intersection(all), store_.literal(literals[pick(2)])});
  }

 private:
  regex_id draw_condition() {
    if (pick(2) == 0) return behind(store_.multiple_of(1 + random_() % 40), pick(3));
    return store_.repeat(store_.bytes(digits), pick(3), pick(2) == 0 ? unbounded : 2 + pick(3));
  }

  static constexpr byte_set digits = byte_set::range('0', '9');
  inline static const std::vector<std::string> literals{"", ".0", "7", "12", "-", "x5", "0", "660"};

  std::uint32_t pick(std::size_t count) { return static_cast<std::uint32_t>(random_() % count); }
  // What is left of it after so many digits.
  regex_id behind(regex_id multiple, std::uint32_t digits_read) {
    step_budget budget(100'000);
    for (; digits_read > 0; --digits_read)
      multiple = store_.derivative(multiple, static_cast<unsigned char>('0' + pick(10)), budget);
    return multiple;
  }

  regex_store& store_;
  std::mt19937_64 random_;
};

bool has_text(regex_store& store, regex_id r, const std::vector<std::string>& texts) {
  for (const std::string& text : texts) {
    step_budget budget(1'000'000);
    const auto matches = store.matches(r, text, budget);
    EXPECT_TRUE(matches.has_value()) << text;
    if (matches == true) return true;
  }
  return false;
}

TEST(EmptyMultiples, AreThoseThatNoTextIsOf) {
  const std::vector<std::string> texts = short_texts();
  int empty = 0, told = 0;
  constexpr int count = 8'000;
  for (std::uint64_t seed = 0; seed < count; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    regex_store store;
    expressions any(store, seed);
    const regex_id r = seed % 2 == 0 ? any.draw(4) : any.draw_conditions();
    byte_set letters;
    for (const char c : alphabet) letters = letters | byte_set::of(static_cast<unsigned char>(c));
    const regex_id bounded = store.intersection({r, store.repeat(store.bytes(letters), 0, most_letters)});
    step_budget budget(300'000), rest(300'000);
    const auto answer = store.is_nothing(bounded, budget);
    const auto of_all = store.is_nothing(r, rest);
    const bool found = has_text(store, bounded, texts);
    ASSERT_EQ(answer.value_or(!found), !found);
    ASSERT_FALSE(found && of_all == true);
    told += answer ? 1 : 0;
    empty += found ? 0 : 1;
  }
  EXPECT_GT(told, count * 99 / 100);
  EXPECT_GT(empty, count / 20);
  EXPECT_LT(empty, count / 2);
}

}  // namespace
}  // namespace troupe::grammar
