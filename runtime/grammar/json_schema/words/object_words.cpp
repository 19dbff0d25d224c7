#include <memory>
#include <string>
#include <unordered_set>
#include <utility>

#include "runtime/grammar/json_schema/words/words.hpp"

namespace troupe::json_schema {
namespace {

std::vector<std::string> names_in(workspace& work, const json& list) {
  std::vector<std::string> out;
  if (!list.is_array()) {
    work.malformed(list, "", "must be an array of names");
    return out;
  }
  for (const json& name : list) {
    if (name.is_string())
      out.push_back(name.get<std::string>());
    else
      work.malformed(name, "", "must be a name, which is a string");
  }
  return out;
}

const json* map_word(workspace& work, const json& node, std::string_view word) {
  const json* map = find_word(work, node, word);
  if (map == nullptr || map->is_object()) return map;
  work.malformed(node, word, "must be an object");
  return nullptr;
}

member_rule read_rule(workspace& work, const json& node) {
  member_rule out;
  if (const json* properties = map_word(work, node, "properties"))
    for (const auto& [name, schema] : properties->items())
      out.properties.emplace_back(name, to_term(work, schema));
  if (const json* patterns = map_word(work, node, "patternProperties"))
    for (const auto& [pattern, schema] : patterns->items())
      out.patterns.emplace_back(pattern_body(work, node, "patternProperties", pattern),
                                to_term(work, schema));
  const char* rest = node.contains("additionalProperties") ? "additionalProperties" : "unevaluatedProperties";
  const term_id unsaid = work.closed.contains(&node) ? term_id::never : term_id::anything;
  out.additional = schema_word(work, node, rest).value_or(unsaid);
  out.origin = &node;
  return out;
}

}  // namespace

object_set object_words(workspace& work, const json& node) {
  object_set out;
  member_rule rule = read_rule(work, node);
  if (!rule.properties.empty() || !rule.patterns.empty() || rule.additional != term_id::anything)
    out.rules.push_back(std::make_shared<const member_rule>(std::move(rule)));
  if (const json* required = find_word(work, node, "required")) {
    std::unordered_set<std::string> seen;
    for (std::string& name : names_in(work, *required))
      if (seen.insert(name).second) out.required.push_back(std::move(name));
  }
  out.min = minimum_word(work, node, "minProperties");
  out.max = maximum_word(work, node, "maxProperties");
  return out;
}

std::vector<dependency> dependency_words(workspace& work, const json& node) {
  std::vector<dependency> out;
  for (const char* word : {"dependentRequired", "dependentSchemas", "dependencies"}) {
    const json* map = map_word(work, node, word);
    if (map == nullptr) continue;
    const bool is_of_schemas = std::string_view(word) == "dependentSchemas";
    const bool is_of_both = std::string_view(word) == "dependencies";
    for (const auto& [name, needs] : map->items()) {
      if (needs.is_array() && !is_of_schemas)
        out.push_back({name, names_in(work, needs), term_id::anything, &needs});
      else if (is_of_both && needs.is_string())
        out.push_back({name, {needs.get<std::string>()}, term_id::anything, &needs});
      else if (is_of_both)
        out.push_back({name, {}, to_term(work, needs, "must be a schema or an array of names"), &needs});
      else if (is_of_schemas)
        out.push_back({name, {}, to_term(work, needs), &needs});
      else
        work.malformed(needs, "", "must be an array of names");
    }
  }
  return out;
}

}  // namespace troupe::json_schema
