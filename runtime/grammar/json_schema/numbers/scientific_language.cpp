#include "runtime/grammar/json_schema/numbers/scientific_language.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <string>

#include "runtime/grammar/json_schema/numbers/magnitudes.hpp"

namespace troupe::json_schema {
namespace {

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

// So near below a power of ten that readers may take it for that.
bool is_nearly_power_of_ten(const decimal& number) {
  const std::string digits = number.whole + number.fraction;
  return digits.find("999999999999999") == digits.find_first_not_of('0');
}

// Smaller ones may be read as zero.
constexpr int least_normal = -307;

// Numbers of one sign, d.ddd times 10^e, by their e alone.
struct magnitude_range {
  bool is_empty = false;
  std::optional<int> least, most;

  // Of this size or more.
  void above(const number_bound& bound) {
    const bool is_exact = is_power_of_ten(bound.value) && !bound.exclusive &&
                          (!bound.value.is_integer() || is_a_double(bound.value));
    const int further = is_exact ? 0 : is_nearly_power_of_ten(bound.value) ? 2 : 1;
    const int e = exponent_of(bound.value) + further;
    least = std::max(least.value_or(e), e);
  }
  void not_zero() { least = std::max(least.value_or(least_normal), least_normal); }
  void below(const decimal& bound) {
    const int e = exponent_of(bound) - 1;
    most = std::min(most.value_or(e), e);
  }
};

// d.ddde+16, d.ddde-05: from which exponents on Python writes them so.
constexpr int first_large = 16, first_small = 5;

regex_id by_exponent(regex_store& store, const magnitude_range& range, bool whole) {
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
  const regex_id texts = store.concat(
      {store.bytes(byte_set::range('1', '9')), store.optional(fraction), store.literal("e"),
       store.alternation({store.concat({store.literal("+"), large}),
                          store.concat({store.literal("-"), store.optional(store.literal("0")), small})})});
  if (!range.most) return texts;
  // What readers may take for the next power of ten.
  const regex_id nearly = store.concat(
      {store.literal("9.99999999999999"), store.plus(digit), store.literal("e"), store.any_bytes()});
  return store.difference(texts, nearly);
}

regex_id either_sign(regex_store& store, regex_id texts) {
  return store.alternation({texts, minus(store, texts)});
}

bool is_written_with_exponent_or_nearly(const decimal& number) {
  return !number.is_zero() &&
         (exponent_of(number) >= first_large - 1 || exponent_of(number) <= 1 - first_small);
}

}  // namespace

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
      return is_negative ? minus_any : store.difference(store.any_bytes(), minus_any);
    const regex_id texts = by_exponent(store, range, whole);
    return is_negative ? minus(store, texts) : texts;
  };
  return store.intersection({all, store.alternation({part(positive, false), part(negative, true)})});
}

regex_id scientific_beyond(regex_store& store, regex_id all, std::span<const number_bound> lows,
                           std::span<const number_bound> highs) {
  std::vector<regex_id> out;
  for (const number_bound& low : lows) {
    const std::array<number_bound, 1> below{{{low.value, !low.exclusive}}};
    out.push_back(scientific_within(store, all, {}, below, false));
  }
  for (const number_bound& high : highs) {
    const std::array<number_bound, 1> above{{{high.value, !high.exclusive}}};
    out.push_back(scientific_within(store, all, above, {}, false));
  }
  return store.alternation(out);
}

regex_id scientific_fractions(regex_store& store, regex_id all) {
  magnitude_range tiny;
  tiny.most = -first_small;
  tiny.not_zero();
  return store.intersection({all, either_sign(store, by_exponent(store, tiny, false))});
}

regex_id scientific_unlike(regex_store& store, regex_id all, std::span<const decimal> values) {
  if (std::ranges::any_of(values, is_written_with_exponent_or_nearly)) return store.nothing();
  magnitude_range any;
  any.not_zero();
  return store.intersection({all, either_sign(store, by_exponent(store, any, false))});
}

regex_id scientific_multiples(regex_store& store, regex_id all, const decimal& step) {
  if (!is_power_of_ten(step) || exponent_of(step) > 0) return store.nothing();
  constexpr int last_large = 99;  // what is divided by the step is to be a double, too
  magnitude_range large;
  large.least = first_large;
  large.most = last_large;
  const regex_id digit = store.bytes(byte_set::range('0', '9'));
  const regex_id mantissa = store.concat(
      {digit, store.optional(store.concat({store.literal("."), store.repeat(digit, 1, first_large)}))});
  const regex_id texts = store.intersection(
      {by_exponent(store, large, false), store.concat({mantissa, store.literal("e"), store.any_bytes()})});
  return store.intersection({all, either_sign(store, texts)});
}

}  // namespace troupe::json_schema
