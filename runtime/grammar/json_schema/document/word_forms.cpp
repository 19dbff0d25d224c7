#include "runtime/grammar/json_schema/document/word_forms.hpp"

#include <algorithm>
#include <array>

#include "runtime/grammar/json_schema/numbers/decimal.hpp"

namespace troupe::json_schema {
namespace {

bool is_text(const json& value) { return value.is_string(); }
bool is_flag(const json& value) { return value.is_boolean(); }
bool is_number_or_flag(const json& value) { return is_number(value) || is_flag(value); }
bool is_count(const json& value) {
  if (!is_number(value)) return false;
  const decimal number = to_decimal(value);
  return number.is_integer() && !number.negative;
}
bool is_array(const json& value) { return value.is_array(); }
bool is_object(const json& value) { return value.is_object(); }
bool is_names(const json& value) { return value.is_array() && std::ranges::all_of(value, is_text); }
bool is_types(const json& value) { return value.is_string() || (is_names(value) && !value.empty()); }
bool is_lists_of_names(const json& value) {
  return value.is_object() && std::ranges::all_of(value, is_names);
}
bool is_schema(const json& value) { return value.is_object() || value.is_boolean(); }
bool is_schemas(const json& value) { return value.is_array() && std::ranges::all_of(value, is_schema); }
bool is_schema_or_schemas(const json& value) { return is_schema(value) || is_schemas(value); }

struct form {
  std::string_view wanted;
  bool (*fits)(const json&);
};

constexpr form text{"must be a string", is_text};
constexpr form flag{"must be true or false", is_flag};
constexpr form count{"must be a whole number, not negative", is_count};
constexpr form number{"must be a number", is_number};
constexpr form number_or_flag{"must be a number", is_number_or_flag};  // draft 4's
constexpr form names{"must be an array of names", is_names};
constexpr form types{"must be a type, or an array of types that is not empty", is_types};
constexpr form array{"must be an array", is_array};
constexpr form object{"must be an object", is_object};
constexpr form lists_of_names{"must have arrays of names", is_lists_of_names};
constexpr form schema{"must be a schema", is_schema};
constexpr form schemas{"must be an array of schemas", is_schemas};
constexpr form schema_or_schemas{"must be a schema", is_schema_or_schemas};

struct word_form {
  std::string_view word;
  const form* of;
};

constexpr std::array<word_form, 44> word_forms{{
    {"$ref", &text},
    {"$dynamicRef", &text},
    {"$recursiveRef", &text},
    {"pattern", &text},
    {"format", &text},
    {"uniqueItems", &flag},
    {"minLength", &count},
    {"maxLength", &count},
    {"minItems", &count},
    {"maxItems", &count},
    {"minContains", &count},
    {"maxContains", &count},
    {"minProperties", &count},
    {"maxProperties", &count},
    {"minimum", &number},
    {"maximum", &number},
    {"multipleOf", &number},
    {"exclusiveMinimum", &number_or_flag},
    {"exclusiveMaximum", &number_or_flag},
    {"required", &names},
    {"type", &types},
    {"enum", &array},
    {"properties", &object},
    {"patternProperties", &object},
    {"$defs", &object},
    {"definitions", &object},
    {"dependentSchemas", &object},
    {"dependencies", &object},
    {"dependentRequired", &lists_of_names},
    {"items", &schema_or_schemas},
    {"additionalItems", &schema},
    {"unevaluatedItems", &schema},
    {"contains", &schema},
    {"additionalProperties", &schema},
    {"unevaluatedProperties", &schema},
    {"propertyNames", &schema},
    {"not", &schema},
    {"if", &schema},
    {"then", &schema},
    {"else", &schema},
    {"prefixItems", &schemas},
    {"allOf", &schemas},
    {"anyOf", &schemas},
    {"oneOf", &schemas},
}};

}  // namespace

std::string_view wrong_form(std::string_view word, const json& value) {
  const auto* const known = std::ranges::find(word_forms, word, &word_form::word);
  return known == word_forms.end() || known->of->fits(value) ? std::string_view() : known->of->wanted;
}

}  // namespace troupe::json_schema
