// The parts of a schema that are schemas themselves: where each stands, and which references lead to it.
#pragma once
#include <span>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/grammar/json_schema/document/schema_document.hpp"

namespace troupe::json_schema {

struct schema_part {
  const json* node = nullptr;
  // Of which it is a part, by a word such as `items` or `properties`; none: it is the whole, or references
  // alone lead to it.
  const schema_part* within = nullptr;
  std::string word = {};
};

// Objects alone: true and false have no words. In time linear in the schema.
class schema_parts {
 public:
  // The document outlives it.
  explicit schema_parts(const schema_document& document);
  schema_parts(const schema_parts&) = delete;
  schema_parts& operator=(const schema_parts&) = delete;

  // nullptr: no such part.
  const schema_part* find(const json& node) const;
  // The parts with a reference to this one.
  std::span<const json* const> references_to(const json& node) const;

 private:
  void look_at(const json& node);
  void look_below(const schema_part& part, const std::string& word, const json& value);
  void add(const json& node, const schema_part& within, const std::string& word);
  void follow(const json& node, const std::string& reference);

  const schema_document& document_;
  std::unordered_map<const json*, schema_part> parts_;
  std::unordered_map<const json*, std::vector<const json*>> references_;  // by target
  std::vector<const json*> targets_;
};

}  // namespace troupe::json_schema
