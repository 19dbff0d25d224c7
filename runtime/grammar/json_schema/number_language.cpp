#include "runtime/grammar/json_schema/number_language.hpp"

#include <charconv>
#include <cstdint>
#include <numeric>
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

}  // namespace

regex_id equal_to(regex_store& store, const decimal& value) {
  const regex_id zeros = store.star(store.literal("0"));
  const regex_id tail = value.fraction.empty() ? store.optional(store.concat({store.literal(".0"), zeros}))
                                               : store.concat({store.literal("." + value.fraction), zeros});
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
