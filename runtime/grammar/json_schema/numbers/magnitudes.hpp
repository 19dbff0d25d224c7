// Numbers without sign as regular expressions over their texts without exponent.
#pragma once
#include <optional>
#include <string>

#include "runtime/grammar/json_schema/numbers/decimal.hpp"
#include "runtime/grammar/regex/regex_store.hpp"

namespace troupe::json_schema {

using grammar::byte_set;
using grammar::regex_id;
using grammar::regex_store;
using grammar::unbounded;

// `inclusive` says whether the bound itself is among them.
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

  // Whole numbers not less than `whole`, of as many digits.
  regex_id as_long_and_not_below(const std::string& whole) {
    return as_long_and_above(whole, store_.empty());
  }

  // Whole numbers less than `whole`, of as many digits.
  regex_id as_long_and_below(const std::string& whole) {
    regex_id out = store_.nothing();
    for (std::size_t i = whole.size(); i-- > 0;) {
      const char lowest = i == 0 && whole.size() > 1 ? '1' : '0';
      const regex_id less =
          store_.concat({between(lowest, static_cast<char>(whole[i] - 1)), any_digits(whole.size() - i - 1)});
      out = store_.alternation({less, store_.concat({between(whole[i], whole[i]), out})});
    }
    return out;
  }

 private:
  // Whole numbers of as many digits that are greater; behind `whole` itself comes what `equal` is.
  regex_id as_long_and_above(const std::string& whole, regex_id equal) {
    for (std::size_t i = whole.size(); i-- > 0;) {
      const regex_id more =
          store_.concat({between(static_cast<char>(whole[i] + 1), '9'), any_digits(whole.size() - i - 1)});
      equal = store_.alternation({more, store_.concat({between(whole[i], whole[i]), equal})});
    }
    return equal;
  }

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
    const regex_id same_size = as_long_and_below(whole);
    if (whole.size() == 1) return same_size;
    const regex_id shorter = store_.concat(
        {between('1', '9'), store_.repeat(digit_, 0, static_cast<std::uint32_t>(whole.size() - 2))});
    return store_.alternation({store_.literal("0"), shorter, same_size});
  }

  regex_id whole_above(const std::string& whole) {
    const regex_id same_size = as_long_and_above(whole, store_.nothing());
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

inline regex_id minus(regex_store& store, regex_id magnitude) {
  return store.concat({store.literal("-"), magnitude});
}

}  // namespace troupe::json_schema
