#include "runtime/grammar/json_schema/document/closed_objects.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "runtime/grammar/json_schema/document/word_lists.hpp"
#include "runtime/json/json.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::array<std::string_view, 2> definition_words{"$defs", "definitions"};
constexpr std::array<std::string_view, 3> alternative_words{"allOf", "anyOf", "oneOf"};
// That speak of an object's other members.
constexpr std::array<std::string_view, 6> member_words{"additionalProperties",  "patternProperties",
                                                       "unevaluatedProperties", "propertyNames",
                                                       "minProperties",         "dependentRequired"};
// That speak of the same value once more, or of its parts.
constexpr std::array<std::string_view, 14> overlapping_words{
    "allOf", "anyOf", "oneOf",   "$ref",     "$dynamicRef",      "$recursiveRef", "not",
    "if",    "const", "extends", "contains", "unevaluatedItems", "enum",          "dependentSchemas"};
// Beside which alternatives, or a reference, are all that is said of an object's members.
constexpr std::array<std::string_view, 14> silent_words{
    "title",    "description", "$comment",    "default",       "examples", "example", "deprecated",
    "readOnly", "writeOnly",   "definitions", "discriminator", "$defs",    "$schema", "type"};

bool has_any(const json& schema, auto&& words) {
  return std::ranges::any_of(words, [&](std::string_view word) { return schema.contains(word); });
}

// One word of alternatives, or a reference, and nothing else is said of the value but its type.
bool stands_alone(const json& schema) {
  std::size_t telling = 0;
  bool is_one = false;
  for (const auto& [word, value] : schema.items()) {
    if (is_one_of(silent_words, word) || word.starts_with("x-")) continue;
    ++telling;
    is_one = is_one_of(alternative_words, word) || is_one_of(reference_words, word);
  }
  return telling == 1 && is_one;
}

const json* object_member(const json& schema, std::string_view word) {
  if (!schema.is_object()) return nullptr;
  const auto found = schema.find(word);
  return found != schema.end() && found->is_object() ? &*found : nullptr;
}

std::unordered_set<std::string_view> required_names(const json& schema) {
  std::unordered_set<std::string_view> names;
  const auto required = schema.find("required");
  if (required == schema.end() || !required->is_array()) return names;
  for (const json& name : *required)
    if (name.is_string()) names.insert(name.get_ref<const std::string&>());
  return names;
}

// Whether all that it requires are members that it names.
bool names_its_members(const json& schema) {
  const json* const properties = object_member(schema, "properties");
  if (properties == nullptr) return false;
  auto required = required_names(schema);
  for (const auto& [name, member] : properties->items()) required.erase(name);
  return required.empty();
}

using constants = std::unordered_map<std::string_view, std::string>;

// Of the members that it requires, those that have one value alone, a text.
constants required_constants(const json& schema) {
  constants found;
  const json* const properties = object_member(schema, "properties");
  if (properties == nullptr) return found;
  const auto required = required_names(schema);
  for (const auto& [name, member] : properties->items()) {
    if (!member.is_object() || !required.contains(name)) continue;
    const auto value = member.find("const"), values = member.find("enum");
    const bool is_listed = values != member.end() && values->is_array() && values->size() == 1;
    if (value == member.end() && !is_listed) continue;
    const json& only = value != member.end() ? *value : values->front();
    if (only.is_string()) found.emplace(name, only.get<std::string>());
  }
  return found;
}

class closed_object_search {
 public:
  explicit closed_object_search(const json& root) : root_(root) {}

  std::unordered_set<const json*> find() {
    look_through(root_, false);
    if (has_inner_ids_) return {};
    walk(root_);
    const std::size_t of_root = found_.size();
    for (const std::string_view word : definition_words)
      if (const json* const definitions = object_member(root_, word)) walk_members(*definitions);
    if (safe_ < references_) found_.resize(lead_to_definitions_ ? of_root : 0);
    return {found_.begin(), found_.end()};
  }

 private:
  // Counts the references, wherever they stand.
  void look_through(const json& node, bool is_map) {
    if (node.is_array())
      for (const json& child : node) look_through(child, false);
    if (!node.is_object()) return;
    for (const auto& [name, child] : node.items()) {
      if (is_map) {
        look_through(child, false);
      } else if (!is_one_of(data_words, name)) {
        if (child.is_string()) note(name, child.get_ref<const std::string&>(), &node == &root_);
        look_through(child, is_one_of(map_words, name));
      }
    }
  }

  void note(std::string_view word, std::string_view text, bool is_of_root) {
    if (!is_of_root && (word == "$id" || word == "id")) has_inner_ids_ = true;
    if (!is_one_of(reference_words, word)) return;
    ++references_;
    if (!text.starts_with("#/$defs/") && !text.starts_with("#/definitions/")) lead_to_definitions_ = false;
  }

  // Of a schema that speaks of its value alone.
  void walk(const json& schema) {
    if (!schema.is_object()) return;
    if (stands_alone(schema)) return walk_alternatives(schema);
    if (has_any(schema, overlapping_words) || schema.contains("dependencies")) return;
    walk_parts(schema);
    if (names_its_members(schema) && !has_any(schema, member_words)) found_.push_back(&schema);
  }

  void walk_parts(const json& schema) {
    const json* const members = object_member(schema, "properties");
    if (members != nullptr && !schema.contains("patternProperties")) walk_members(*members);
    for (const char* word : {"items", "prefixItems", "additionalItems", "additionalProperties"})
      if (const auto items = schema.find(word); items != schema.end()) walk_all(*items);
  }

  void walk_members(const json& members) {
    for (const auto& [name, schema] : members.items()) walk(schema);
  }

  void walk_all(const json& schemas) {
    if (!schemas.is_array()) return walk(schemas);
    for (const json& schema : schemas) walk(schema);
  }

  void walk_alternatives(const json& schema) {
    if (schema.contains("$ref")) ++safe_;
    if (const auto any = schema.find("anyOf"); any != schema.end()) walk_all(*any);
    if (const auto all = schema.find("allOf"); all != schema.end() && all->size() == 1) walk_all(*all);
    if (const auto one = schema.find("oneOf"); one != schema.end() && are_told_apart(*one)) walk_all(*one);
  }

  // Whether all of them require one member, and each gives it a constant of its own.
  bool are_told_apart(const json& alternatives) const {
    if (!alternatives.is_array() || alternatives.empty()) return false;
    std::unordered_map<std::string_view, std::set<std::string>> seen;  // constants of each member
    for (const json& each : alternatives)
      for (auto& [name, value] : required_constants(*target_of(each))) seen[name].insert(value);
    return std::ranges::any_of(seen, [&](const auto& of) { return of.second.size() == alternatives.size(); });
  }

  // Of a reference to a definition what it leads to.
  const json* target_of(const json& schema) const {
    if (!schema.is_object() || !stands_alone(schema)) return &schema;
    const auto reference = schema.find("$ref");
    if (reference == schema.end() || !reference->is_string()) return &schema;
    const std::string_view target = reference->get_ref<const std::string&>();
    for (const std::string_view word : definition_words) {
      const std::string before = "#/" + std::string(word) + "/";
      const json* const definitions = object_member(root_, word);
      if (definitions == nullptr || !target.starts_with(before)) continue;
      if (const json* const found = object_member(*definitions, target.substr(before.size()))) return found;
    }
    return &schema;
  }

  const json& root_;
  std::vector<const json*> found_;
  std::size_t references_ = 0;
  std::size_t safe_ = 0;  // of them: from places where what they lead to may be closed
  bool lead_to_definitions_ = true;
  bool has_inner_ids_ = false;  // by which references may lead elsewhere than they seem to
};

}  // namespace

void leave_open(json& schema) {
  if (!schema.contains("allOf")) schema["allOf"] = json::array();
  if (json& all = schema["allOf"]; all.is_array()) all.push_back(true);
}

std::unordered_set<const json*> objects_to_close(const json& schema) {
  if (!schema.is_object()) return {};
  return closed_object_search(schema).find();
}

}  // namespace troupe::json_schema
