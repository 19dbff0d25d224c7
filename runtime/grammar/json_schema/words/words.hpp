// Reading the words of one schema object, by the type of instance that they speak of.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/grammar/json_schema/values/value_set.hpp"
#include "runtime/grammar/json_schema/workspace.hpp"

namespace troupe::json_schema {

// Nothing where the node has no such member, or its draft is older than the word.
const json* find_word(const workspace& work, const json& node, std::string_view word);

// minLength, maxItems, ...: a whole number, not negative. A maximum too large to count is `unbounded`.
std::uint32_t minimum_word(workspace& work, const json& node, std::string_view word);
std::uint32_t maximum_word(workspace& work, const json& node, std::string_view word);

// A member that is a schema, or nothing.
std::optional<term_id> schema_word(workspace& work, const json& node, std::string_view word);
// Of a part of the document; where it is no schema, `wanted` completes the sentence "this ...".
term_id to_term(workspace& work, const json& schema, std::string_view wanted = "must be a schema");

// minLength, maxLength, pattern, format: the bodies.
string_bodies string_words(workspace& work, const json& node);
// A pattern as JSON Schema means it: found anywhere in the text unless it has anchors.
regex_id pattern_body(workspace& work, const json& node, std::string_view word, const std::string& pattern);

// minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf.
number_texts number_words(workspace& work, const json& node, number_texts of);
// Texts of the set's numbers that may be written: those without exponent, and with one.
regex_id written_numbers(workspace& work, const value_set& of);
regex_id written_scientific(workspace& work, const value_set& of);

// items, prefixItems, additionalItems, contains, minItems, maxItems, uniqueItems, unevaluatedItems.
array_set array_words(workspace& work, const json& node);

// properties, patternProperties, additionalProperties, required, minProperties, maxProperties,
// unevaluatedProperties.
object_set object_words(workspace& work, const json& node);

// An object that has `name` has `names` too, and is in `schema`.
struct dependency {
  std::string name;
  std::vector<std::string> names;
  term_id schema = term_id::anything;
  const json* origin = nullptr;  // the part of the schema that says so
};
// dependentRequired, dependentSchemas, dependencies.
std::vector<dependency> dependency_words(workspace& work, const json& node);

}  // namespace troupe::json_schema
