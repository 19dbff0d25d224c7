#include "runtime/grammar/json_schema/document/schema_parts.hpp"

#include "runtime/grammar/json_schema/document/word_lists.hpp"

namespace troupe::json_schema {
schema_parts::schema_parts(const schema_document& document) : document_(document) {
  look_at(document.root());
  // Some lie below words that are not known, as in #/components/schemas.
  for (std::size_t next = 0; next < targets_.size(); ++next) look_at(*targets_[next]);
}

const schema_part* schema_parts::find(const json& node) const {
  const auto known = parts_.find(&node);
  return known == parts_.end() ? nullptr : &known->second;
}

std::span<const json* const> schema_parts::references_to(const json& node) const {
  const auto known = references_.find(&node);
  return known == references_.end() ? std::span<const json* const>() : known->second;
}

void schema_parts::look_at(const json& node) {
  if (!node.is_object()) return;
  const auto [place, is_new] = parts_.try_emplace(&node, schema_part{.node = &node});
  if (!is_new) return;
  const schema_part& part = place->second;
  for (const auto& [word, value] : node.items()) {
    if (value.is_string() && is_one_of(reference_words, word))
      follow(node, value.get_ref<const std::string&>());
    else if (value.is_structured())
      look_below(part, word, value);
  }
}

void schema_parts::look_below(const schema_part& part, const std::string& word, const json& value) {
  const bool is_map = is_one_of(map_words, word);
  if (!is_map && !is_one_of(schema_words, word)) return;
  if (!is_map && value.is_object()) return add(value, part, word);
  for (const json& each : value) add(each, part, word);
}

void schema_parts::add(const json& node, const schema_part& within, const std::string& word) {
  look_at(node);
  const auto known = parts_.find(&node);
  if (known == parts_.end()) return;
  known->second.within = &within;
  known->second.word = word;
}

void schema_parts::follow(const json& node, const std::string& reference) {
  const auto target = document_.resolve(node, reference);
  if (!target) return;
  references_[*target].push_back(&node);
  targets_.push_back(*target);
}

}  // namespace troupe::json_schema
