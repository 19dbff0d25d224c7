// Sets of numbers as regular expressions over their texts without exponent. Every spelling of a number is in
// (2, 2.0, 2.00), so intersection and complement among such texts are those of the numbers.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/grammar/json_schema/decimal.hpp"
#include "runtime/grammar/json_schema/json_text.hpp"

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
// without a point, those with at most 15 digits that count, and `doubles`, which are the shortest texts of
// some.
regex_id exactly_read(regex_store& store, const json_text& text, std::vector<std::string> doubles);

// Multiples of `step`, which is positive, in texts that are exactly read where the step has at most 15
// decimals. Nothing where that has no expression of reasonable size.
std::optional<regex_id> multiples_of(regex_store& store, const json_text& text, const decimal& step);

}  // namespace troupe::json_schema
