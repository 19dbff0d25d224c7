#include "runtime/grammar/json_schema/number_language.hpp"

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

namespace troupe::json_schema {
namespace {

using grammar::byte_set;
using grammar::unbounded;

constexpr std::uint64_t max_divisor = std::uint64_t{1} << 59U;
constexpr std::size_t max_step_decimals = 24;

// Texts without sign; `inclusive` says whether the bound itself is among them.
class magnitudes {
 public:
  explicit magnitudes(regex_store& store) : store_(store), digit_(store.bytes(byte_set::range('0', '9'))) {}

  regex_id below(const decimal& bound, bool inclusive) {
    return store_.alternation(
        {store_.concat({whole_below(bound.whole), any_fraction()}),
         store_.concat({store_.literal(bound.whole), fraction_below(bound.fraction, inclusive)})});
  }

  regex_id above(const decimal& bound, bool inclusive) {
    return store_.alternation(
        {store_.concat({whole_above(bound.whole), any_fraction()}),
         store_.concat({store_.literal(bound.whole), fraction_above(bound.fraction, inclusive)})});
  }

  // Whole numbers, from the one to the other; no `last`: without end.
  regex_id whole_between(int first, std::optional<int> last) {
    if (last && *last < first) return store_.nothing();
    const regex_id from = whole_above(std::to_string(first - 1));
    return last ? store_.intersection({from, whole_below(std::to_string(*last + 1))}) : from;
  }

  regex_id any_fraction() {
    return store_.optional(store_.concat({store_.literal("."), store_.plus(digit_)}));
  }

 private:
  regex_id between(char first, char last) {
    return first > last ? store_.nothing()
                        : store_.bytes(byte_set::range(static_cast<unsigned char>(first),
                                                       static_cast<unsigned char>(last)));
  }
  regex_id any_digits(std::size_t count) {
    return store_.repeat(digit_, static_cast<std::uint32_t>(count), static_cast<std::uint32_t>(count));
  }

  // Whole numbers less than `whole`.
  regex_id whole_below(const std::string& whole) {
    regex_id same_size = store_.nothing();
    for (std::size_t i = whole.size(); i-- > 0;) {
      const char lowest = i == 0 && whole.size() > 1 ? '1' : '0';
      const regex_id less =
          store_.concat({between(lowest, static_cast<char>(whole[i] - 1)), any_digits(whole.size() - i - 1)});
      same_size = store_.alternation({less, store_.concat({between(whole[i], whole[i]), same_size})});
    }
    if (whole.size() == 1) return same_size;
    const regex_id shorter = store_.concat(
        {between('1', '9'), store_.repeat(digit_, 0, static_cast<std::uint32_t>(whole.size() - 2))});
    return store_.alternation({store_.literal("0"), shorter, same_size});
  }

  regex_id whole_above(const std::string& whole) {
    regex_id same_size = store_.nothing();
    for (std::size_t i = whole.size(); i-- > 0;) {
      const regex_id more =
          store_.concat({between(static_cast<char>(whole[i] + 1), '9'), any_digits(whole.size() - i - 1)});
      same_size = store_.alternation({more, store_.concat({between(whole[i], whole[i]), same_size})});
    }
    const regex_id longer = store_.concat(
        {between('1', '9'), store_.repeat(digit_, static_cast<std::uint32_t>(whole.size()), unbounded)});
    return store_.alternation({longer, same_size});
  }

  // Point and digits, or nothing at all, of fractions less than `fraction`.
  regex_id fraction_below(const std::string& fraction, bool inclusive) {
    const regex_id zeros = store_.star(store_.literal("0"));
    if (fraction.empty()) {
      if (!inclusive) return store_.nothing();
      return store_.optional(store_.concat({store_.literal(".0"), zeros}));
    }
    regex_id rest = inclusive ? zeros : store_.nothing();
    for (std::size_t i = fraction.size(); i-- > 0;) {
      const regex_id less =
          store_.concat({between('0', static_cast<char>(fraction[i] - 1)), store_.star(digit_)});
      rest = store_.alternation({less, store_.concat({between(fraction[i], fraction[i]), rest})});
      if (i > 0) rest = store_.optional(rest);  // it may end here: what is left of `fraction` is not zero
    }
    return store_.optional(store_.concat({store_.literal("."), rest}));
  }

  regex_id fraction_above(const std::string& fraction, bool inclusive) {
    const regex_id any = store_.star(digit_);
    if (fraction.empty() && inclusive) return any_fraction();
    regex_id rest = any;
    if (!inclusive) rest = store_.concat({store_.star(store_.literal("0")), between('1', '9'), any});
    for (std::size_t i = fraction.size(); i-- > 0;) {
      const regex_id more = store_.concat({between(static_cast<char>(fraction[i] + 1), '9'), any});
      rest = store_.alternation({more, store_.concat({between(fraction[i], fraction[i]), rest})});
    }
    return store_.concat({store_.literal("."), rest});
  }

  regex_store& store_;
  regex_id digit_;
};

regex_id minus(regex_store& store, regex_id magnitude) {
  return store.concat({store.literal("-"), magnitude});
}

// The e for which 10^e is not more, and 10^(e + 1) more, than a number that is not zero.
int exponent_of(const decimal& number) {
  if (number.whole != "0") return static_cast<int>(number.whole.size()) - 1;
  return -static_cast<int>(number.fraction.find_first_not_of('0')) - 1;
}

bool is_power_of_ten(const decimal& number) {
  const std::string digits = number.whole + number.fraction;
  const std::size_t first = digits.find_first_not_of('0');
  return digits[first] == '1' && digits.find_first_not_of('0', first + 1) == std::string::npos;
}

// Smaller ones may be read as zero.
constexpr int least_normal = -307;

// Numbers of one sign, d.ddd times 10^e, by their e alone.
struct magnitude_range {
  bool is_empty = false;
  std::optional<int> least, most;

  // Of this size or more.
  void above(const number_bound& bound) {
    const bool is_exact = is_power_of_ten(bound.value) && !bound.exclusive;
    const int e = exponent_of(bound.value) + (is_exact ? 0 : 1);
    least = std::max(least.value_or(e), e);
  }
  void not_zero() { least = std::max(least.value_or(least_normal), least_normal); }
  void below(const decimal& bound) {
    const int e = exponent_of(bound) - 1;
    most = std::min(most.value_or(e), e);
  }
};

// d.ddde+16, d.ddde-05: from which exponents on Python writes them so.
regex_id by_exponent(regex_store& store, const magnitude_range& range, bool whole) {
  constexpr int first_large = 16, first_small = 5;
  magnitudes make(store);
  const regex_id digit = store.bytes(byte_set::range('0', '9'));
  const regex_id large =
      make.whole_between(std::max(range.least.value_or(first_large), first_large), range.most);
  std::optional<int> smallest;
  if (range.least) smallest = -*range.least;
  const regex_id small =
      whole ? store.nothing()
            : make.whole_between(std::max(-range.most.value_or(-first_small), first_small), smallest);
  const regex_id fraction =
      store.concat({store.literal("."), store.plus(whole ? store.literal("0") : digit)});
  return store.concat(
      {store.bytes(byte_set::range('1', '9')), store.optional(fraction), store.literal("e"),
       store.alternation({store.concat({store.literal("+"), large}),
                          store.concat({store.literal("-"), store.optional(store.literal("0")), small})})});
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

regex_id scientific_within(regex_store& store, regex_id all, std::span<const number_bound> lows,
                           std::span<const number_bound> highs, bool whole) {
  magnitude_range positive, negative;
  bool has_zero = true;
  for (const number_bound& low : lows) {
    if (low.value.negative)
      negative.below(low.value);
    else
      negative.is_empty = true;
    if (!low.value.negative && !low.value.is_zero()) positive.above(low);
    if (low.value.is_zero() && low.exclusive) positive.not_zero();
    has_zero = has_zero && (low.value.negative || (low.value.is_zero() && !low.exclusive));
  }
  for (const number_bound& high : highs) {
    if (high.value.negative) negative.above(high);
    if (high.value.is_zero() && high.exclusive) negative.not_zero();
    if (high.value.negative || high.value.is_zero())
      positive.is_empty = true;
    else
      positive.below(high.value);
    has_zero = has_zero && !high.value.negative && !(high.value.is_zero() && high.exclusive);
  }
  const regex_id minus_any = store.concat({store.literal("-"), store.any_bytes()});
  const auto part = [&](const magnitude_range& range, bool is_negative) {
    if (range.is_empty) return store.nothing();
    if (has_zero && !range.least && !range.most)
      return is_negative ? store.intersection({all, minus_any}) : store.difference(all, minus_any);
    const regex_id texts = by_exponent(store, range, whole);
    return is_negative ? minus(store, texts) : texts;
  };
  return store.alternation({part(positive, false), part(negative, true)});
}

// step = m / 10^k. A number with f digits behind the point is a multiple where those digits and the ones
// before, read as one number, are a multiple of m / gcd(m, 10^(k-f)); digits past the k-th are zeros.
std::optional<regex_id> multiples_of(regex_store& store, const json_text& text, const decimal& step) {
  const std::size_t k = step.fraction.size();
  const std::string digits = step.whole + step.fraction;
  std::uint64_t m = 0;
  const auto read = std::from_chars(digits.data(), digits.data() + digits.size(), m);
  if (read.ec != std::errc() || m == 0 || m >= max_divisor || k > max_step_decimals) return std::nullopt;
  const regex_id digit = store.bytes(byte_set::range('0', '9'));
  const regex_id zeros = store.star(store.literal("0"));
  std::vector<regex_id> by_decimals;
  for (std::size_t f = k + 1; f-- > 0;) {
    const auto count = static_cast<std::uint32_t>(f);
    const regex_id shape =
        f == 0 ? text.whole
               : store.concat({text.whole, store.literal("."), store.repeat(digit, count, count)});
    const regex_id tail = f == 0 ? store.optional(store.concat({store.literal(".0"), zeros})) : zeros;
    by_decimals.push_back(store.concat({store.intersection({shape, store.multiple_of(m)}), tail}));
    m /= std::gcd(m, std::uint64_t{10});
  }
  return store.concat({store.optional(store.literal("-")), store.alternation(by_decimals)});
}

}  // namespace troupe::json_schema
