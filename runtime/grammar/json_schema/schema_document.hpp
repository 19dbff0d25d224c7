// A parsed JSON Schema document: where each of its parts stands, and what each $ref means.
#pragma once
#include <cstddef>
#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "runtime/result.hpp"

namespace troupe::json_schema {

using json = nlohmann::ordered_json;

enum class draft { draft4, draft6, draft7, draft2019, draft2020 };

struct document_limits {
  std::size_t max_bytes = 4U << 20U;
  std::size_t max_depth = 128;
  std::size_t max_values = 1U << 20U;
};

// Immutable. Pointers to its parts stay valid as long as it lives; it may be moved.
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

  // The JSON pointer of a part of the document, "" for the root. Slow: for messages.
  std::string pointer_of(const json& node) const;

 private:
  schema_document() = default;
  void read_version();
  using base_uri = std::shared_ptr<const std::string>;
  result<void> index();
  result<base_uri> enter(const json& node, const base_uri& outer);

  std::unique_ptr<json> root_;
  draft version_ = draft::draft2020;
  std::unordered_map<const json*, base_uri> base_of_;       // of the nodes with a $ref
  std::unordered_map<std::string, const json*> resources_;  // by URI without fragment
  std::unordered_map<std::string, const json*> anchors_;    // by URI#anchor
};

}  // namespace troupe::json_schema
