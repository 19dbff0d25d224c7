// Numbers no longer than their readers can hold: a model that may write a digit more sometimes does so until
// its answer is cut off, and an integer of twenty digits fits no integer of most programs.
#pragma once
#include <nlohmann/json.hpp>

#include "runtime/grammar/regex_store.hpp"

namespace troupe::json_schema {

// Numbers of at most 18 digits, so that whole ones fit 64 bits with a sign, and 20 more behind the point, so
// that whatever Python writes for a double without an exponent is among them; an exponent has 3 at most.
grammar::regex_id short_numbers(grammar::regex_store& store);

// Whether the schema speaks of numbers that are nearly as long, other than as limits which all short ones
// keep: only then can it allow some numbers and no short one. In time linear in the schema.
bool needs_long_numbers(const nlohmann::ordered_json& schema);

}  // namespace troupe::json_schema
