#include "runtime/grammar/json_schema/words/words.hpp"

namespace troupe::json_schema {
namespace {

void read_prefix(workspace& work, const json& list, array_set& out) {
  for (const json& each : list) out.prefix.push_back(to_term(work, each));
}

// 2020-12: prefixItems and items. Before: items, a schema or a list, and additionalItems.
void read_items(workspace& work, const json& node, array_set& out) {
  const json* items = find_word(work, node, "items");
  if (items != nullptr && items->is_array()) {
    read_prefix(work, *items, out);
    const char* rest = node.contains("additionalItems") ? "additionalItems" : "unevaluatedItems";
    out.items = schema_word(work, node, rest).value_or(term_id::anything);
    return;
  }
  if (const json* prefix = find_word(work, node, "prefixItems")) {
    if (prefix->is_array())
      read_prefix(work, *prefix, out);
    else
      work.malformed(node, "prefixItems", "must be an array");
  }
  const char* rest = items != nullptr ? "items" : "unevaluatedItems";
  out.items = schema_word(work, node, rest).value_or(term_id::anything);
}

void read_contains(workspace& work, const json& node, array_set& out) {
  const auto contained = schema_word(work, node, "contains");
  if (!contained) return;
  item_count count{*contained, 1, unbounded, &node};
  if (find_word(work, node, "maxContains") != nullptr) count.max = maximum_word(work, node, "maxContains");
  if (find_word(work, node, "minContains") != nullptr) count.min = minimum_word(work, node, "minContains");
  if (count.min > 0 || count.max != unbounded) out.counts.push_back(count);
}

}  // namespace

array_set array_words(workspace& work, const json& node) {
  array_set out;
  read_items(work, node, out);
  read_contains(work, node, out);
  out.min = minimum_word(work, node, "minItems");
  out.max = maximum_word(work, node, "maxItems");
  if (const json* unique = find_word(work, node, "uniqueItems")) {
    if (unique->is_boolean())
      out.unique = unique->get<bool>() ? &node : nullptr;
    else
      work.malformed(node, "uniqueItems", "must be true or false");
  }
  return out;
}

}  // namespace troupe::json_schema
