#include "runtime/grammar/json_schema/words/words.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>

namespace troupe::json_schema {
namespace {

// Words that came after draft 4, and with which draft.
constexpr std::array<std::pair<std::string_view, draft>, 15> newer_words{{
    {"const", draft::draft6},
    {"contains", draft::draft6},
    {"propertyNames", draft::draft6},
    {"if", draft::draft7},
    {"then", draft::draft7},
    {"else", draft::draft7},
    {"$recursiveRef", draft::draft2019},
    {"$dynamicRef", draft::draft2020},
    {"dependentRequired", draft::draft2019},
    {"dependentSchemas", draft::draft2019},
    {"minContains", draft::draft2019},
    {"maxContains", draft::draft2019},
    {"unevaluatedItems", draft::draft2019},
    {"unevaluatedProperties", draft::draft2019},
    {"prefixItems", draft::draft2020},
}};

draft draft_of(std::string_view word) {
  const auto* known = std::ranges::find(newer_words, word, [](const auto& each) { return each.first; });
  return known == newer_words.end() ? draft::draft4 : known->second;
}

constexpr double largest_count = 4'000'000'000.0;

std::optional<double> count_word(workspace& work, const json& node, std::string_view word) {
  const json* value = find_word(work, node, word);
  if (value == nullptr) return std::nullopt;
  if (is_number(*value)) {
    const decimal count = to_decimal(*value);
    double rounded = 0;  // only where it is too large to count
    std::from_chars(count.whole.data(), count.whole.data() + count.whole.size(), rounded);
    if (count.is_integer() && !count.negative) return rounded;
  }
  work.malformed(node, word, "must be a whole number, not negative");
  return std::nullopt;
}

}  // namespace

const json* find_word(const workspace& work, const json& node, std::string_view word) {
  const auto found = node.find(word);
  return found == node.end() || work.document.version() < draft_of(word) ? nullptr : &*found;
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

term_id to_term(workspace& work, const json& schema, std::string_view wanted) {
  if (!schema.is_object() && !schema.is_boolean()) {
    work.malformed(schema, "", wanted);
    return term_id::anything;
  }
  return work.terms.schema(schema);
}

std::optional<term_id> schema_word(workspace& work, const json& node, std::string_view word) {
  const json* schema = find_word(work, node, word);
  if (schema == nullptr) return std::nullopt;
  return to_term(work, *schema);
}

}  // namespace troupe::json_schema
