// What the value of each word of JSON Schema must be, whether or not the word speaks of the values at hand.
#pragma once
#include <string_view>

#include "runtime/json/json.hpp"

namespace troupe::json_schema {

// What `word` asks for where `value` is not that, "must be an array of names"; empty where it is, and for
// words that may have any value. Looks at the value alone, not at schemas within it.
std::string_view wrong_form(std::string_view word, const json& value);

}  // namespace troupe::json_schema
