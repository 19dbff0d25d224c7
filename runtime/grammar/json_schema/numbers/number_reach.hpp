// What readers may take for a number of a set though the text says another: they read one with a point as a
// double, 1.0000000000000001 as 1. Whoever denies a set denies these too. Of texts without exponent; those
// that are not exactly_read() are never written where something is denied, and are left as they are.
#pragma once
#include "runtime/grammar/json_schema/numbers/number_language.hpp"

namespace troupe::json_schema {

// Numbers that may be read as `value`.
regex_id reach_of_value(regex_store& store, const decimal& value);
// Numbers that may be read as whatever number of other digits: for many values, which cost too much one by
// one.
regex_id reach_of_many(regex_store& store);
regex_id reach_of_integers(regex_store& store);
// Numbers besides the multiples of `step` whose double, divided by that of `step`, may be whole.
regex_id reach_of_multiples(regex_store& store, const decimal& step);
// Numbers that may be read as at least, or at most, as large as the bound.
regex_id reach_of_bound(regex_store& store, const json_text& text, const number_bound& bound, bool is_lower);

// The bound that holds for the doubles which readers take numbers with a point for: below an exclusive 1 the
// largest is 0.9999999999999999.
number_bound as_doubles(const number_bound& bound, bool is_lower);

}  // namespace troupe::json_schema
