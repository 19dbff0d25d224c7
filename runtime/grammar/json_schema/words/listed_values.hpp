// Values that a schema names one by one.
#pragma once
#include <optional>
#include <string>
#include <vector>

#include "runtime/grammar/json_schema/workspace.hpp"
#include "runtime/json/json.hpp"

namespace troupe::json_schema {

// Every value of the term is one of these: those of an enum or const in it, or null, true and false by type.
std::optional<std::vector<const json*>> listed_values(const workspace& work, term_id of);

// Leaves in `left` what is in `right`, too.
void keep_common(workspace& work, std::vector<const json*>& left, const std::vector<const json*>& right);
// Whether parts of the term list their values, few enough to be compared, and no value is in all of the
// lists.
bool lists_exclude_each_other(workspace& work, term_id of);

// Equal values have equal keys, different values different ones: 1 and 1.0, objects whose members stand in
// another order. Costs steps by its length.
std::string key_of(workspace& work, const json& value);
bool are_equal(workspace& work, const json& a, const json& b);

}  // namespace troupe::json_schema
