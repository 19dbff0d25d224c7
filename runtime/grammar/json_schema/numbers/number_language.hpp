// Sets of numbers as regular expressions over their texts without exponent. Every spelling of a number is in
// (2, 2.0, 2.00), so intersection and complement among such texts are those of the numbers.
#pragma once
#include <optional>

#include "runtime/grammar/json_schema/numbers/decimal.hpp"
#include "runtime/grammar/json_schema/texts/json_text.hpp"

namespace troupe::json_schema {

// Numbers equal to `value`.
regex_id equal_to(regex_store& store, const decimal& value);

struct number_bound {
  decimal value;
  bool exclusive = false;
};

// Numbers greater than `bound`, or equal to it unless `exclusive`.
regex_id at_least(regex_store& store, const json_text& text, const decimal& bound, bool exclusive);
regex_id at_most(regex_store& store, const json_text& text, const decimal& bound, bool exclusive);

// Texts that are read as the number that they spell, though readers take one with a point for a double: those
// without a point, and all that Python writes for a double without an exponent. (With 16 or 17 digits some
// others are let through, too: they are what the double says.)
regex_id exactly_read(regex_store& store, const json_text& text);

// Multiples of `step`, which is positive. Nothing where that has no expression of reasonable size.
std::optional<regex_id> multiples_of(regex_store& store, const json_text& text, const decimal& step);

}  // namespace troupe::json_schema
