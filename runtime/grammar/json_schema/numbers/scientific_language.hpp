// Numbers with an exponent, as json.dumps writes doubles that are very large or very small (1e+16, 2.5e-07).
// What is told of them is told by sign and exponent alone, and holds for the doubles that readers take them
// for: sets of them are parts of what is meant, never more. `all` has the texts to choose from.
#pragma once
#include <span>

#include "runtime/grammar/json_schema/numbers/number_language.hpp"

namespace troupe::json_schema {

// Surely within the bounds. `whole`: integers.
regex_id scientific_within(regex_store& store, regex_id all, std::span<const number_bound> lows,
                           std::span<const number_bound> highs, bool whole);
// Surely not within one of them.
regex_id scientific_beyond(regex_store& store, regex_id all, std::span<const number_bound> lows,
                           std::span<const number_bound> highs);
// Surely no integers.
regex_id scientific_fractions(regex_store& store, regex_id all);
// Surely none of the values: nothing where one of them is as large or as small itself.
regex_id scientific_unlike(regex_store& store, regex_id all, std::span<const decimal> values);
// Surely multiples: nothing but for steps of 1, 0.1, 0.01, ...
regex_id scientific_multiples(regex_store& store, regex_id all, const decimal& step);

}  // namespace troupe::json_schema
