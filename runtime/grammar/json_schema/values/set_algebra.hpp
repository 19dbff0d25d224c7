// And, or and not of sets of JSON values.
#pragma once
#include <span>

#include "runtime/grammar/json_schema/values/value_set.hpp"
#include "runtime/grammar/json_schema/workspace.hpp"

namespace troupe::json_schema {

value_set no_values(workspace& work);
value_set all_values(workspace& work);
// Whether that shows without looking into anything.
bool has_nothing(const workspace& work, const value_set& of);

// Past limits.max_alternatives arrays or objects the workspace fails; `node` is where it says so.
value_set intersect(workspace& work, const value_set& a, const value_set& b, const json& node);
value_set unite(workspace& work, std::span<const value_set* const> sets);
value_set unite(workspace& work, const value_set& a, const value_set& b);
// Of numbers with exponent some may be missing, from the set and from what is outside of it.
value_set complement(workspace& work, const value_set& of, const json& node);

array_set intersect(workspace& work, const array_set& a, const array_set& b);
object_set intersect(const object_set& a, const object_set& b);

// The alternatives of what is outside of `of`, among arrays and among objects.
std::vector<array_set> complement(workspace& work, const array_set& of, const json& node);
std::vector<object_set> complement(workspace& work, const object_set& of);

}  // namespace troupe::json_schema
