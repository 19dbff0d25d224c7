// JSON as Python's json.dumps(..., ensure_ascii=False) writes it, which is what grammars of strings spell.
#pragma once
#include <nlohmann/json.hpp>
#include <string>

namespace troupe::cli {

enum class json_spacing {
  python,  // ", " and ": " between members and items
  none,    // as with separators=(",", ":")
};

// Floating-point numbers as Python's repr writes them. What a reader
// kept of a number (openai::kept_number) is written out in full.
std::string json_dumps(const nlohmann::ordered_json& value, json_spacing spacing = json_spacing::python);

}  // namespace troupe::cli
