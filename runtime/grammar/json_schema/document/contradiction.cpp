#include "runtime/grammar/json_schema/document/contradiction.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace troupe::json_schema {
namespace {

const json* word_of(const json& schema, const char* name) {
  const auto found = schema.find(name);
  return found == schema.end() ? nullptr : &*found;
}

// Names come from a stranger.
std::string shown(const std::string& name) {
  constexpr std::size_t most = 40;
  return name.size() <= most ? name : name.substr(0, most) + "...";
}

bool has_type(const json& value, const json& type) {
  if (type.is_array())
    return std::ranges::any_of(type, [&](const json& each) { return has_type(value, each); });
  if (type == "integer")
    return value.is_number() &&
           (!value.is_number_float() || std::trunc(value.get<double>()) == value.get<double>());
  return type == value.type_name();
}

std::string missing_property(const json& schema) {
  const json* const required = word_of(schema, "required");
  const json* const additional = word_of(schema, "additionalProperties");
  const json* const patterns = word_of(schema, "patternProperties");
  if (required == nullptr || !required->is_array() || additional == nullptr || *additional != json(false))
    return {};
  if (patterns != nullptr && !patterns->empty()) return {};
  const json* const properties = word_of(schema, "properties");
  for (const json& name : *required) {
    if (!name.is_string()) continue;
    if (properties != nullptr && properties->is_object() && properties->contains(name.get<std::string>()))
      continue;
    return fmt::format("\"{}\" is required and not among the properties, and additionalProperties is false",
                       shown(name.get<std::string>()));
  }
  return {};
}

}  // namespace

std::string contradiction_in(const json& schema) {
  if (!schema.is_object()) return {};
  constexpr std::pair<const char*, const char*> limits[] = {{"minimum", "maximum"},
                                                            {"minLength", "maxLength"},
                                                            {"minItems", "maxItems"},
                                                            {"minProperties", "maxProperties"}};
  for (const auto& [least, most] : limits) {
    const json* const low = word_of(schema, least);
    const json* const high = word_of(schema, most);
    if (low != nullptr && high != nullptr && low->is_number() && high->is_number() && *low > *high)
      return fmt::format("{} is above {}", least, most);
  }
  const json* const listed = word_of(schema, "enum");
  if (listed != nullptr && listed->is_array() && listed->empty()) return "enum lists no value";
  const json* const only = word_of(schema, "const");
  if (const json* const type = word_of(schema, "type"); type != nullptr) {
    const auto fits = [&](const json& value) { return has_type(value, *type); };
    if (only != nullptr && !fits(*only)) return "const is not of the type";
    if (listed != nullptr && std::ranges::none_of(*listed, fits)) return "no value of enum is of the type";
  }
  return missing_property(schema);
}

}  // namespace troupe::json_schema
