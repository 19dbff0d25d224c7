// The formats of JSON Schema as regular expressions.
#pragma once
#include <optional>
#include <span>
#include <string_view>

#include "runtime/grammar/json_schema/workspace.hpp"

namespace troupe::json_schema {

// Bodies of strings of this format; nothing for a name that JSON Schema does not define, which means nothing
// there either (validation vocabulary, 7.2.3). Of a format without a regular form a part is sure
// (docs/grammar.md says which), and what may be of it besides is of its reach.
std::optional<string_bodies> format_bodies(workspace& work, std::string_view name);

// Those that JSON Schema defines.
std::span<const std::string_view> format_names();

}  // namespace troupe::json_schema
