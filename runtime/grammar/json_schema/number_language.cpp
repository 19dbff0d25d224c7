#include "runtime/grammar/json_schema/number_language.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "runtime/grammar/json_schema/magnitudes.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::uint64_t max_divisor = std::uint64_t{1} << 59U;
constexpr std::uint32_t max_step_decimals = 24;
// Every decimal of so many digits has a double of its own: no two are read as one.
constexpr std::uint32_t exact_digits = std::numeric_limits<double>::digits10;
// Behind more of them, between the point and the first digit that counts, a number is so small that nobody
// writes it without an exponent.
constexpr std::uint32_t most_leading_zeros = 29;

regex_id any_digit(regex_store& store) { return store.bytes(byte_set::range('0', '9')); }

// Whole numbers of at most so many digits; 0 has none.
regex_id short_whole(regex_store& store, std::uint32_t digits) {
  if (digits == 0) return store.literal("0");
  const regex_id rest = store.repeat(any_digit(store), 0, digits - 1);
  return store.alternation(
      {store.literal("0"), store.concat({store.bytes(byte_set::range('1', '9')), rest})});
}

}  // namespace

regex_id equal_to(regex_store& store, const decimal& value) {
  const regex_id zeros = store.star(store.literal("0"));
  regex_id tail = store.empty();
  if (!value.fraction.empty())
    tail = store.concat({store.literal("." + value.fraction), zeros});
  else if (is_a_double(value))
    tail = store.optional(store.concat({store.literal(".0"), zeros}));
  const regex_id magnitude = store.concat({store.literal(value.whole), tail});
  if (value.is_zero()) return store.concat({store.optional(store.literal("-")), magnitude});
  return value.negative ? minus(store, magnitude) : magnitude;
}

regex_id at_least(regex_store& store, const json_text& text, const decimal& bound, bool exclusive) {
  magnitudes make(store);
  if (bound.negative) {
    const regex_id positive = store.concat({text.whole, make.any_fraction()});
    return store.alternation({positive, minus(store, make.below(bound, !exclusive))});
  }
  const regex_id positive = make.above(bound, !exclusive);
  if (!bound.is_zero() || exclusive) return positive;
  return store.alternation({positive, minus(store, make.below(bound, true))});
}

regex_id at_most(regex_store& store, const json_text& text, const decimal& bound, bool exclusive) {
  magnitudes make(store);
  if (bound.negative || (bound.is_zero() && exclusive)) return minus(store, make.above(bound, !exclusive));
  const regex_id negative = minus(store, store.concat({text.whole, make.any_fraction()}));
  return store.alternation({negative, make.below(bound, !exclusive)});
}

regex_id exactly_read(regex_store& store, const json_text& text, std::vector<std::string> doubles) {
  const regex_id digit = any_digit(store), zeros = store.star(store.literal("0"));
  const auto fraction = [&](std::uint32_t most) {
    const regex_id counting = most == 0 ? store.literal("0") : store.repeat(digit, 1, most);
    return store.concat({store.literal("."), counting, zeros});
  };
  regex_id rest = fraction(0);  // of a number that is not less than 1, behind its first digit
  for (std::uint32_t left = 1; left < exact_digits; ++left)
    rest = store.alternation({store.concat({digit, rest}), fraction(left)});
  const regex_id small =
      store.concat({store.literal("0."), store.repeat(store.literal("0"), 0, most_leading_zeros),
                    store.repeat(digit, 1, exact_digits), zeros});
  const regex_id magnitude = store.alternation(
      {text.whole, store.concat({store.bytes(byte_set::range('1', '9')), rest}), small,
       store.concat({store.literal("0.0"), zeros}), store.concat({store.one_of(std::move(doubles)), zeros})});
  return store.concat({store.optional(store.literal("-")), magnitude});
}

// step = m / 10^k. A number with f digits behind the point is a multiple where those digits and the ones
// before, read as one number, are a multiple of m / gcd(m, 10^(k-f)); digits past the k-th are zeros.
std::optional<regex_id> multiples_of(regex_store& store, const json_text& text, const decimal& step) {
  const auto k = static_cast<std::uint32_t>(step.fraction.size());
  const std::string digits = step.whole + step.fraction;
  std::uint64_t m = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), m);
  if (read.ec != std::errc() || m == 0 || m > max_divisor || k > max_step_decimals) return std::nullopt;
  const regex_id zeros = store.star(store.literal("0"));
  std::vector<regex_id> by_decimals;
  const auto add = [&](regex_id shape, regex_id tail) {
    by_decimals.push_back(store.concat({store.intersection({shape, store.multiple_of(m)}), tail}));
  };
  for (std::uint32_t f = k; f > 0; --f) {
    add(store.concat({short_whole(store, exact_digits - std::min(f, exact_digits)), store.literal("."),
                      store.repeat(any_digit(store), f, f)}),
        zeros);
    m /= std::gcd(m, std::uint64_t{10});
  }
  add(short_whole(store, exact_digits), store.concat({store.literal(".0"), zeros}));
  add(text.whole, store.empty());
  return store.concat({store.optional(store.literal("-")), store.alternation(by_decimals)});
}

}  // namespace troupe::json_schema
