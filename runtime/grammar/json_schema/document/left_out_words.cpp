#include "runtime/grammar/json_schema/document/left_out_words.hpp"

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "runtime/grammar/json_schema/document/closed_objects.hpp"
#include "runtime/grammar/json_schema/document/schema_document.hpp"
#include "runtime/grammar/json_schema/document/schema_parts.hpp"
#include "runtime/grammar/json_schema/document/word_forms.hpp"
#include "runtime/grammar/json_schema/document/word_lists.hpp"
#include "runtime/json/exact_number.hpp"

namespace troupe::json_schema {
namespace {

// Within which less may mean more: these are left out as a whole.
constexpr std::array<std::string_view, 5> turning_words{"not", "if", "oneOf", "contains", "extends"};

// A word of a part, or the member of it that has this name.
struct word_place {
  const schema_part* of = nullptr;
  std::string word;
  std::optional<std::string> name = std::nullopt;
};

std::vector<std::string> tokens_of(const std::string& pointer) {
  std::vector<std::string> tokens;
  for (json::json_pointer rest(pointer); !rest.empty(); rest.pop_back()) tokens.push_back(rest.back());
  std::ranges::reverse(tokens);
  return tokens;
}

const json* step(const json& from, const std::string& token) {
  json::json_pointer one;
  one.push_back(token);
  return from.contains(one) ? &from.at(one) : nullptr;
}

class left_out_search {
 public:
  explicit left_out_search(const schema_document& document) : document_(document), parts_(document) {}

  // What is to go for the word at this place; nothing where no word stands there that may, or too many would
  // go. They point into this.
  std::vector<word_place> find(const std::string& pointer, error_code why) {
    auto found = word_at(pointer, why);
    if (!found) return {};
    if (auto turning = turning_around(found->of, found->word)) found = std::move(turning);
    loosen(*found->of);
    while (!loosened_.empty()) {
      const json* const target = loosened_.back();
      loosened_.pop_back();
      for (const json* from : parts_.references_to(*target)) loosen_by_reference(*parts_.find(*from));
    }
    if (turned_.size() > most_turned) return {};
    turned_.push_back(std::move(*found));
    return std::move(turned_);
  }

 private:
  std::optional<word_place> word_at(const std::string& pointer, error_code why) const {
    const std::vector<std::string> tokens = tokens_of(pointer);
    const json* node = &document_.root();
    const schema_part* part = nullptr;
    std::size_t behind = 0;  // tokens up to the part
    for (std::size_t i = 0; i < tokens.size() && node != nullptr; ++i) {
      if (const schema_part* const here = parts_.find(*node)) part = here, behind = i;
      node = step(*node, tokens[i]);
    }
    const schema_part* const end = node == nullptr ? nullptr : parts_.find(*node);
    const bool is_whole = end != nullptr && end->within == nullptr;  // which no word holds
    if (part == nullptr || is_whole) return std::nullopt;
    const std::string& word = tokens[behind];
    const std::size_t more = tokens.size() - behind - 1;
    if (!is_one_of(schema_words, word) && !is_one_of(map_words, word)) return word_place{part, word};
    if (more == 0 && why != error_code::invalid_argument) return word_place{part, word};
    if (more == 1 && word == "patternProperties") return word_place{part, word, tokens.back()};
    return std::nullopt;
  }

  // Of those within which the word of the part stands, or the part itself, the outermost.
  static std::optional<word_place> turning_around(const schema_part* part, std::string_view word) {
    std::optional<word_place> found;
    for (; part != nullptr; word = part->word, part = part->within)
      if (is_one_of(turning_words, word)) found = {part, std::string(word)};
    return found;
  }

  // The part allows more than it did, and so do those that hold it.
  void loosen(const schema_part& part) {
    for (const schema_part* each = &part; each != nullptr && seen_.insert(each->node).second;
         each = each->within)
      loosened_.push_back(each->node);
  }

  void loosen_by_reference(const schema_part& from) {
    if (turned_.size() > most_turned) return;  // nothing will go
    auto turning = turning_around(from.within, from.word);
    if (!turning) return loosen(from);
    loosen(*turning->of);
    const auto is_same = [&](const word_place& other) {
      return other.of == turning->of && other.word == turning->word;
    };
    if (std::ranges::none_of(turned_, is_same)) turned_.push_back(std::move(*turning));
  }

  const schema_document& document_;
  const schema_parts parts_;
  std::set<const json*> seen_;
  std::vector<const json*> loosened_;  // whose references are to be looked at
  std::vector<word_place> turned_;     // within which references turn about
};

void erase(json& part, const word_place& of) {
  if (of.word == "patternProperties") {
    // Members of the pattern are no others, of which these words speak.
    if (of.name)
      part[of.word].erase(*of.name);
    else
      part[of.word] = json::object();
    part.erase("additionalProperties");
    part.erase("unevaluatedProperties");
  } else {
    part.erase(of.word);
  }
  leave_open(part);
}

void leave_out_unset_below(json& schemas) {
  if (schemas.is_structured())
    for (json& each : schemas) leave_out_unset(each);
}

}  // namespace

bool leave_out(json& schema, const error& why, const grammar::grammar_limits& limits) {
  const auto document = schema_document::parse(dump_exactly(schema), document_limits_of(limits));
  if (!document || !schema.is_object()) return false;
  left_out_search search(*document);
  const std::vector<word_place> words = search.find(why.param, why.code);
  for (const word_place& each : words) {
    const json::json_pointer part(document->pointer_of(*each.of->node));
    if (schema.contains(part)) erase(schema.at(part), each);  // else it has gone with one around it
  }
  return !words.empty();
}

void leave_out_unset(json& schema) {
  if (!schema.is_object()) return;
  std::vector<std::string> unset;
  for (auto& [word, value] : schema.items()) {
    if (value.is_null() && !wrong_form(word, value).empty()) unset.push_back(word);
    if (is_one_of(map_words, word) || (value.is_array() && is_one_of(schema_words, word)))
      leave_out_unset_below(value);
    else if (is_one_of(schema_words, word))
      leave_out_unset(value);
  }
  for (const std::string& word : unset) schema.erase(word);
}

}  // namespace troupe::json_schema
