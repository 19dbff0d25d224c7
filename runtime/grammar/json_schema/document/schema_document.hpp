// A parsed JSON Schema document: where each of its parts stands, and what each $ref means.
#pragma once
#include <cstddef>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/grammar/limits.hpp"
#include "runtime/json/json.hpp"
#include "runtime/result.hpp"

namespace troupe::json_schema {

enum class draft { draft4, draft6, draft7, draft2019, draft2020 };

struct document_limits {
  std::size_t max_bytes = 4U << 20U;
  std::size_t max_depth = 128;
  std::size_t max_values = 1U << 20U;
};

// What the limits of a grammar say of its schema's document.
inline document_limits document_limits_of(const grammar::grammar_limits& limits) {
  return {.max_bytes = limits.max_source_bytes,
          .max_depth = limits.max_depth,
          .max_values = limits.max_schema_values};
}

// Immutable, but for what it remembers of look-ups: not for two threads at once. Pointers to its parts stay
// valid as long as it lives; it may be moved.
class schema_document {
 public:
  // Errors: invalid_argument where the text is not JSON, is neither an object nor a Boolean or passes a
  // limit, or where an $id is longer than a URI is.
  static result<schema_document> parse(std::string_view text, const document_limits& limits = {});

  const json& root() const { return *root_; }
  draft version() const { return version_; }

  // What `$ref`, a member of `node`, refers to. Base URIs come from $id (draft 4: id), fragments are JSON
  // pointers or anchors. Errors: invalid_argument where nothing in the document has that address.
  result<const json*> resolve(const json& node, const std::string& reference) const;

  // Whether `word` of `node`, $dynamicRef or $recursiveRef, which resolves to `target`, may stand for other
  // places, too: those on the way of references to it that have the same anchor.
  bool depends_on_the_way(const json& node, std::string_view word, const json& target) const;

  // The JSON pointer of a part of the document, "" for the root. Slow: for messages.
  std::string pointer_of(const json& node) const;

 private:
  schema_document() = default;
  void read_version();
  using base_uri = std::shared_ptr<const std::string>;
  result<void> index();
  result<base_uri> enter(const json& node, const base_uri& outer);

  const json* member_of(const json& object, const std::string& name) const;
  const json* step_into(const json& node, const std::string& token) const;
  const json* follow(const json& from, std::string_view pointer) const;

  std::unique_ptr<json> root_;
  draft version_ = draft::draft2020;
  std::unordered_map<const json*, base_uri> base_of_;             // of the nodes with a $ref
  std::unordered_map<std::string, const json*> resources_;        // by URI without fragment
  std::unordered_map<std::string, const json*> anchors_;          // by URI#anchor
  std::unordered_map<std::string, std::size_t> dynamic_anchors_;  // how many places have each
  std::size_t recursive_anchors_ = 0;
  // Members of wide objects that a pointer has gone through, by name.
  mutable std::unordered_map<const json*, std::unordered_map<std::string_view, const json*>> wide_;
};

}  // namespace troupe::json_schema
