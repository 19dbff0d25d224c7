// JSON as Python's json.dumps(..., ensure_ascii=False) writes it, which is what grammars of strings spell.
#pragma once
#include <string>

#include "runtime/grammar/json_schema/options.hpp"
#include "runtime/json/json.hpp"

namespace troupe::cli {

enum class json_spacing {
  python,  // ", " and ": " between members and items
  none,    // as with separators=(",", ":")
};

// A grammar without white space has no other text of a value than the one with none.
inline json_spacing spacing_of(const json_schema::schema_options& options) {
  return options.max_white_space == 0 ? json_spacing::none : json_spacing::python;
}

// Floating-point numbers as Python's repr writes them. What a reader
// kept of a number (kept_number) is written out in full.
std::string json_dumps(const json& value, json_spacing spacing = json_spacing::python);

}  // namespace troupe::cli
