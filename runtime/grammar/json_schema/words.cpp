#include "runtime/grammar/json_schema/words.hpp"

#include <cmath>

namespace troupe::json_schema {
namespace {

constexpr double largest_count = 4'000'000'000.0;

std::optional<double> count_word(workspace& work, const json& node, std::string_view word) {
  const json* value = find_word(node, word);
  if (value == nullptr) return std::nullopt;
  if (value->is_number()) {
    const double count = value->get<double>();
    if (count >= 0 && std::floor(count) == count) return count;
  }
  work.malformed(node, word, "must be a whole number, not negative");
  return std::nullopt;
}

}  // namespace

const json* find_word(const json& node, std::string_view word) {
  const auto found = node.find(word);
  return found == node.end() ? nullptr : &*found;
}

const json* find_word(const workspace& work, const json& node, std::string_view word, draft since) {
  return work.document.version() < since ? nullptr : find_word(node, word);
}

std::uint32_t minimum_word(workspace& work, const json& node, std::string_view word) {
  const double count = count_word(work, node, word).value_or(0);
  if (count <= largest_count) return static_cast<std::uint32_t>(count);
  work.refuse(node, word, "is too large");
  return 0;
}

std::uint32_t maximum_word(workspace& work, const json& node, std::string_view word) {
  const auto count = count_word(work, node, word);
  // No request can write so many.
  if (!count || *count > largest_count) return unbounded;
  return static_cast<std::uint32_t>(*count);
}

term_id to_term(workspace& work, const json& parent, std::string_view word, const json& schema) {
  if (!schema.is_object() && !schema.is_boolean()) {
    work.malformed(parent, word, "must be a schema");
    return term_id::anything;
  }
  return work.terms.schema(schema);
}

std::optional<term_id> schema_word(workspace& work, const json& node, std::string_view word) {
  const json* schema = find_word(node, word);
  if (schema == nullptr) return std::nullopt;
  return to_term(work, node, word, *schema);
}

}  // namespace troupe::json_schema
