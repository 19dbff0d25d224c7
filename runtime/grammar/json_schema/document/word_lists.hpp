// Which words of a schema hold schemas, and where.
#pragma once
#include <algorithm>
#include <array>
#include <span>
#include <string_view>

namespace troupe::json_schema {

// Members whose values are instances: an $id in there is data.
inline constexpr std::array<std::string_view, 5> data_words{"enum", "const", "default", "examples",
                                                            "example"};
// Members whose own members have names of the author's choice, not words of JSON Schema.
inline constexpr std::array<std::string_view, 6> map_words{
    "properties", "patternProperties", "$defs", "definitions", "dependentSchemas", "dependencies"};
// Members that are schemas, or arrays of them.
inline constexpr std::array<std::string_view, 17> schema_words{"items",
                                                               "prefixItems",
                                                               "additionalItems",
                                                               "unevaluatedItems",
                                                               "contains",
                                                               "additionalProperties",
                                                               "unevaluatedProperties",
                                                               "propertyNames",
                                                               "allOf",
                                                               "anyOf",
                                                               "oneOf",
                                                               "not",
                                                               "if",
                                                               "then",
                                                               "else",
                                                               "contentSchema",
                                                               "extends"};

// Members whose values are the names of other schemas.
inline constexpr std::array<std::string_view, 3> reference_words{"$ref", "$dynamicRef", "$recursiveRef"};

inline bool is_one_of(std::span<const std::string_view> words, std::string_view word) {
  return std::find(words.begin(), words.end(), word) != words.end();
}

}  // namespace troupe::json_schema
