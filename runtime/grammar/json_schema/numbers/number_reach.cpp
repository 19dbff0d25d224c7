#include "runtime/grammar/json_schema/numbers/number_reach.hpp"

#include <array>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/json_schema/numbers/magnitudes.hpp"

namespace troupe::json_schema {
namespace {

// So many digits of a number tell it from those whose double is whole: half of what lies between two doubles
// below 10^n is less than 10^(n - 16), up to n = 15. A quotient has been rounded three times.
constexpr std::uint32_t digits_of_whole_doubles = 16, digits_of_quotients = 15;

class reach_maker {
 public:
  explicit reach_maker(regex_store& store) : store_(store), digit_(store.bytes(byte_set::range('0', '9'))) {}

  // Whole numbers of so many digits; 0 has none.
  regex_id whole(std::uint32_t digits) {
    return digits == 0 ? store_.literal("0") : store_.concat({first(), some(digits - 1, digits - 1)});
  }
  regex_id whole_from(std::uint32_t digits) { return store_.concat({first(), some(digits - 1, unbounded)}); }
  regex_id some(std::uint32_t least, std::uint32_t most) { return store_.repeat(digit_, least, most); }
  regex_id behind(regex_id whole, regex_id fraction) {
    return store_.concat({whole, store_.literal("."), fraction});
  }
  regex_id row(const char* digit, std::uint32_t count) {
    return store_.repeat(store_.literal(digit), count, count);
  }
  regex_id from_to(std::uint32_t first, std::uint32_t last) {
    if (first > last) return store_.nothing();
    return store_.bytes(
        byte_set::range(static_cast<unsigned char>('0' + first), static_cast<unsigned char>('0' + last)));
  }
  regex_id either_sign(const std::vector<regex_id>& magnitudes) {
    return store_.concat({store_.optional(store_.literal("-")), store_.alternation(magnitudes)});
  }

 private:
  regex_id first() { return store_.bytes(byte_set::range('1', '9')); }

  regex_store& store_;
  regex_id digit_;
};

}  // namespace

regex_id reach_of_value(regex_store& store, const decimal& value) {
  magnitudes make(store);
  const auto above = next_double(value, true), below = next_double(value, false);
  if (value.is_zero()) {
    const regex_id tiny = make.below(as_doubles({value, true}, true).value, false);
    return store.concat({store.optional(store.literal("-")), tiny});
  }
  if (!above || !below) return equal_to(store, value);
  decimal least = value.negative ? *above : *below, most = value.negative ? *below : *above;
  least.negative = most.negative = false;
  const regex_id near = store.intersection({make.above(least, false), make.below(most, false)});
  return value.negative ? minus(store, near) : near;
}

regex_id reach_of_many(regex_store& store) {
  reach_maker make(store);
  std::vector<regex_id> longer;
  for (std::uint32_t whole = 1; whole <= digits_of_quotients; ++whole)
    longer.push_back(make.behind(make.whole(whole), make.some(digits_of_quotients + 1 - whole, unbounded)));
  longer.push_back(make.behind(make.whole_from(digits_of_quotients + 1), make.some(1, unbounded)));
  longer.push_back(make.behind(store.literal("0"), store.concat({store.star(store.literal("0")),
                                                                 make.whole_from(digits_of_quotients + 1)})));
  return make.either_sign(longer);
}

namespace {

// Fractions that are nearly 0 or 1: their 16th digit says so, or, where doubles are that far apart, they are
// less than `apart` units of the 17th from it. `zeros`: up to the 16th.
regex_id nearly_whole(regex_store& store, std::uint32_t zeros, std::uint32_t apart) {
  reach_maker make(store);
  const regex_id any = make.some(0, unbounded), more = make.some(1, unbounded);
  const regex_id low = make.row("0", zeros), high = make.row("9", zeros);
  if (apart > 9) return store.alternation({store.concat({low, more}), store.concat({high, more})});
  return store.alternation({store.concat({low, make.from_to(0, apart - 1), any}),
                            store.concat({high, make.from_to(11 - apart, 9), any}),
                            store.concat({high, make.from_to(10 - apart, 10 - apart), more})});
}

// With 16 digits in front of the point and more there is little behind it.
regex_id large_fractions(regex_store& store, std::string_view doubles) {
  reach_maker make(store);
  byte_set set = byte_set::range('1', '9');
  for (const char c : doubles) set = set & ~byte_set::of(static_cast<unsigned char>(c));
  return store.concat({store.literal("."), store.alternation({store.bytes(set), make.some(2, unbounded)})});
}

// Numbers whose first digit is one of these, up to `last`: doubles below it are half of that far apart.
regex_id near_integers_from(regex_store& store, std::uint32_t first, std::uint32_t last,
                            std::string_view large_doubles) {
  constexpr std::uint32_t first_told = 13;  // with fewer digits so nearly whole ones are rare
  reach_maker make(store);
  const auto behind_point = [&](std::uint32_t whole) {
    const double below = (last + 1) * std::pow(10.0, static_cast<int>(whole) - 1);
    const double half = std::ldexp(1.0, static_cast<int>(std::ceil(std::log2(below))) - 54);
    const double unit = std::pow(10.0, static_cast<int>(whole) - 17);
    const std::uint32_t apart = whole < first_told ? 10 : static_cast<std::uint32_t>(half / unit) + 1;
    return store.concat({store.literal("."), nearly_whole(store, digits_of_whole_doubles - whole, apart)});
  };
  const regex_id digit = make.some(1, 1);
  regex_id rest = store.alternation({large_fractions(store, large_doubles),
                                     store.concat({make.some(1, unbounded), large_fractions(store, "")})});
  for (std::uint32_t whole = digits_of_whole_doubles - 1; whole > 0; --whole)
    rest = store.alternation({behind_point(whole), store.concat({digit, rest})});
  return store.concat({make.from_to(first, last), rest});
}

// But for whole numbers themselves, with one zero behind the point or none.
regex_id near_integers(regex_store& store) {
  reach_maker make(store);
  const auto large_from = [&](const char* least, regex_id fractions) {
    return make.behind(magnitudes(store).as_long_and_not_below(least), fractions);
  };
  const regex_id two_or_eight = store.alternation({store.literal("2"), store.literal("8")});
  return make.either_sign({make.behind(store.literal("0"), nearly_whole(store, digits_of_whole_doubles, 10)),
                           near_integers_from(store, 1, 1, "2345678"),
                           near_integers_from(store, 2, 4, "2345678"), near_integers_from(store, 5, 9, ""),
                           large_from("2251799813685248", two_or_eight),          // 2^51
                           large_from("4503599627370496", make.from_to(1, 9))});  // 2^52
}

// Halves divide without rounding. With so many digits in front of the point half of what lies between two
// doubles is less than 10^(digits - 16), up to 15 of them.
regex_id near_halves(regex_store& store) {
  constexpr std::uint32_t digits_of_half_doubles = 15;
  reach_maker make(store);
  const regex_id more = make.some(1, unbounded);
  std::vector<regex_id> near{};
  for (std::uint32_t whole = 0; whole <= digits_of_half_doubles; ++whole) {
    const std::uint32_t told = digits_of_half_doubles - whole;
    const regex_id above = store.concat({store.literal("5"), make.row("0", told), more});
    const regex_id below = store.concat({store.literal("4"), make.row("9", told), more});
    near.push_back(make.behind(make.whole(whole), store.alternation({above, below})));
  }
  // A quarter to either side covers what lies between two doubles up to 2^51; with near_integers() all is
  // denied above.
  near.push_back(make.behind(make.whole_from(digits_of_half_doubles + 1),
                             store.concat({make.from_to(2, 7), make.some(0, unbounded)})));
  return store.alternation({near_integers(store), make.either_sign(near)});
}

// By the digits of the quotient, which is rounded.
regex_id near_decimals(regex_store& store, std::uint32_t decimals) {
  reach_maker make(store);
  std::vector<regex_id> near;
  std::uint32_t whole = 0;
  for (; whole + decimals <= digits_of_quotients; ++whole) {
    const std::uint32_t left = digits_of_quotients - whole - decimals;
    const regex_id rest = left == 0 ? make.some(1, unbounded) : nearly_whole(store, left, 10);
    near.push_back(make.behind(make.whole(whole), store.concat({make.some(decimals, decimals), rest})));
  }
  // The quotient may have no digits behind the point.
  const regex_id large =
      whole == 0 ? store.alternation({make.whole(0), make.whole_from(1)}) : make.whole_from(whole);
  near.push_back(store.concat({large, magnitudes(store).any_fraction()}));
  return make.either_sign(near);
}

}  // namespace

regex_id reach_of_integers(regex_store& store) {
  reach_maker make(store);
  const regex_id any = store.alternation({make.whole(0), make.whole_from(1)});
  const regex_id spelled = make.behind(any, store.plus(store.literal("0")));
  return store.alternation({near_integers(store), make.either_sign({spelled})});
}

// A remainder is what counts where the step is whole.
regex_id reach_of_multiples(regex_store& store, const decimal& step) {
  if (step.is_integer()) return near_integers(store);
  if (step.whole == "0" && step.fraction == "5") return near_halves(store);
  return near_decimals(store, static_cast<std::uint32_t>(step.fraction.size()));
}

// Next to zero are numbers that nobody writes without an exponent.
number_bound as_doubles(const number_bound& bound, bool is_lower) {
  if (!bound.exclusive) return bound;
  if (bound.value.is_zero()) {
    constexpr std::size_t zeros = 29;
    return {{.negative = !is_lower, .whole = "0", .fraction = std::string(zeros, '0') + '1'}, false};
  }
  const auto next = next_double(bound.value, is_lower);
  return next ? number_bound{*next, false} : bound;
}

regex_id reach_of_bound(regex_store& store, const json_text& text, const number_bound& bound, bool is_lower) {
  number_bound reached = bound;
  if (!bound.exclusive) {
    reached = as_doubles({bound.value, true}, !is_lower);
    reached.exclusive = !reached.exclusive;  // all past the double before it
  }
  const auto texts = is_lower ? at_least : at_most;
  return texts(store, text, reached.value, reached.exclusive);
}

}  // namespace troupe::json_schema
