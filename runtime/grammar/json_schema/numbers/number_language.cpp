#include "runtime/grammar/json_schema/numbers/number_language.hpp"

#include <charconv>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include "runtime/grammar/json_schema/numbers/magnitudes.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::uint64_t max_divisor = std::uint64_t{1} << 59U;
constexpr std::size_t max_step_decimals = 24;

// Digits, a point, and behind it what is as far apart as doubles of that size are.
regex_id with_16_whole_digits(regex_store& store) {
  magnitudes make(store);
  const auto digits_of = [&](std::string_view members) {
    byte_set set;
    for (const char c : members) set.insert(static_cast<unsigned char>(c));
    return store.bytes(set);
  };
  const auto with = [&](regex_id whole, std::string_view behind) {
    return store.concat({whole, store.literal("."), digits_of(behind)});
  };
  const regex_id even = store.concat(
      {digits_of("123456789"), store.repeat(digits_of("0123456789"), 14, 14), digits_of("02468")});
  return store.alternation({with(make.as_long_and_below("1125899906842624"), "0123456789"),  // 2^50
                            with(make.as_long_and_below("2251799813685248"), "0258"),        // 2^51
                            with(make.as_long_and_below("4503599627370496"), "05"),          // 2^52
                            with(make.as_long_and_below("9007199254740992"), "0"),           // 2^53
                            with(even, "0")});
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

regex_id exactly_read(regex_store& store, const json_text& text) {
  constexpr std::uint32_t most_digits = 17;  // that tell doubles apart
  constexpr std::uint32_t most_whole = 15;   // digits in front of the point, that leave room for a fraction
  constexpr std::uint32_t most_zeros = 29;   // behind it: who writes smaller ones writes an exponent
  const regex_id digit = store.bytes(byte_set::range('0', '9')),
                 first = store.bytes(byte_set::range('1', '9'));
  // No zeros at the end but for ".0": with more of them it is the same number.
  const auto fraction = [&](std::uint32_t most) {
    const regex_id counting = store.concat({store.repeat(digit, 0, most - 1), first});
    return store.concat({store.literal("."), store.alternation({store.literal("0"), counting})});
  };
  regex_id rest = fraction(most_digits - most_whole);
  for (std::uint32_t whole = most_whole - 1; whole > 0; --whole)
    rest = store.alternation({store.concat({digit, rest}), fraction(most_digits - whole)});
  const regex_id small = store.concat({store.literal("0."), store.repeat(store.literal("0"), 0, most_zeros),
                                       store.repeat(digit, 0, most_digits - 1), first});
  const regex_id magnitude = store.alternation(
      {text.whole, store.concat({first, rest}), small, store.literal("0.0"), with_16_whole_digits(store)});
  return store.concat({store.optional(store.literal("-")), magnitude});
}

// step = m / 10^k. A number with f digits behind the point is a multiple where those digits and the ones
// before, read as one number, are a multiple of m / gcd(m, 10^(k-f)); digits past the k-th are zeros.
std::optional<regex_id> multiples_of(regex_store& store, const json_text& text, const decimal& step) {
  const std::size_t k = step.fraction.size();
  const std::string digits = step.whole + step.fraction;
  std::uint64_t m = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), m);
  if (read.ec != std::errc() || m == 0 || m > max_divisor || k > max_step_decimals) return std::nullopt;
  const regex_id digit = store.bytes(byte_set::range('0', '9'));
  const regex_id zeros = store.star(store.literal("0"));
  std::vector<regex_id> by_decimals;
  for (std::size_t f = k + 1; f-- > 0;) {
    const auto count = static_cast<std::uint32_t>(f);
    const regex_id shape =
        f == 0 ? text.whole
               : store.concat({text.whole, store.literal("."), store.repeat(digit, count, count)});
    const regex_id tail = f == 0 ? store.optional(store.concat({store.literal(".0"), zeros})) : zeros;
    const regex_id those = m == 1 ? shape : store.intersection({shape, store.multiple_of(m)});
    by_decimals.push_back(store.concat({those, tail}));
    m /= std::gcd(m, std::uint64_t{10});
  }
  return store.concat({store.optional(store.literal("-")), store.alternation(by_decimals)});
}

}  // namespace troupe::json_schema
