#include "runtime/grammar/json_schema/document/unknown_words.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

#include "runtime/grammar/json_schema/document/word_forms.hpp"
#include "runtime/grammar/json_schema/document/word_lists.hpp"
#include "runtime/grammar/json_schema/texts/formats.hpp"
#include "runtime/json/json_reader.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::array<std::string_view, 64> known_words{"$anchor",
                                                       "$comment",
                                                       "$defs",
                                                       "$dynamicAnchor",
                                                       "$dynamicRef",
                                                       "$id",
                                                       "$recursiveAnchor",
                                                       "$recursiveRef",
                                                       "$ref",
                                                       "$schema",
                                                       "$vocabulary",
                                                       "additionalItems",
                                                       "additionalProperties",
                                                       "allOf",
                                                       "anyOf",
                                                       "const",
                                                       "contains",
                                                       "contentEncoding",
                                                       "contentMediaType",
                                                       "contentSchema",
                                                       "default",
                                                       "definitions",
                                                       "dependencies",
                                                       "dependentRequired",
                                                       "dependentSchemas",
                                                       "deprecated",
                                                       "description",
                                                       "else",
                                                       "enum",
                                                       "example",
                                                       "examples",
                                                       "exclusiveMaximum",
                                                       "exclusiveMinimum",
                                                       "format",
                                                       "id",
                                                       "if",
                                                       "items",
                                                       "maxContains",
                                                       "maxItems",
                                                       "maxLength",
                                                       "maxProperties",
                                                       "maximum",
                                                       "minContains",
                                                       "minItems",
                                                       "minLength",
                                                       "minProperties",
                                                       "minimum",
                                                       "multipleOf",
                                                       "not",
                                                       "oneOf",
                                                       "pattern",
                                                       "patternProperties",
                                                       "prefixItems",
                                                       "properties",
                                                       "propertyNames",
                                                       "readOnly",
                                                       "required",
                                                       "then",
                                                       "title",
                                                       "type",
                                                       "unevaluatedItems",
                                                       "unevaluatedProperties",
                                                       "uniqueItems",
                                                       "writeOnly"};

// Of letters that are put in, left out, exchanged for another or swapped with the next.
std::size_t slips_between(std::string_view a, std::string_view b) {
  std::vector<std::size_t> before_last, last(b.size() + 1), row(b.size() + 1);
  for (std::size_t j = 0; j <= b.size(); ++j) last[j] = j;
  for (std::size_t i = 1; i <= a.size(); ++i) {
    row[0] = i;
    for (std::size_t j = 1; j <= b.size(); ++j) {
      row[j] = std::min({last[j] + 1, row[j - 1] + 1, last[j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        row[j] = std::min(row[j], before_last[j - 2] + 1);
    }
    before_last = std::exchange(last, row);
  }
  return last[b.size()];
}

std::string nearest(std::string_view word, std::span<const std::string_view> known_ones) {
  constexpr std::size_t most_slips = 2, letters_for_each = 3, longest = 64;
  if (word.size() > longest) return {};
  std::size_t fewest = std::min(most_slips, word.size() / letters_for_each) + 1;
  std::string_view found;
  for (const std::string_view known : known_ones)
    if (const std::size_t slips = slips_between(word, known); slips < fewest) {
      fewest = slips;
      found = known;
    }
  return std::string(found);
}

class word_search {
 public:
  explicit word_search(std::size_t most) : most_(most) {}

  void look_at(const json& schema, const std::string& pointer) {
    if (!schema.is_object() || found.size() >= most_) return;
    for (const auto& [word, value] : schema.items()) {
      const std::string at = pointer + "/" + escape_pointer(word);
      if (!is_one_of(known_words, word)) {
        if (!word.starts_with("x-")) add({at, nearest(word, known_words)});
      } else if (const auto wanted = wrong_form(word, value); !wanted.empty()) {
        add({at, "", false, std::string(wanted)});
      } else if (word == "format") {
        look_at_format(value, at);
      } else if (is_one_of(map_words, word)) {
        look_at_members(value, at);
      } else if (is_one_of(schema_words, word)) {
        look_at(value, at);
        look_at_items(value, at);
      }
    }
  }

  std::vector<unknown_word> found;

 private:
  void add(unknown_word word) {
    if (found.size() < most_) found.push_back(std::move(word));
  }

  void look_at_format(const json& name, const std::string& pointer) {
    const auto names = format_names();
    const auto& text = name.get_ref<const std::string&>();
    if (!is_one_of(names, text)) add({pointer, nearest(text, names), true});
  }

  void look_at_members(const json& schemas, const std::string& pointer) {
    for (const auto& [name, schema] : schemas.items()) look_at(schema, pointer + "/" + escape_pointer(name));
  }

  void look_at_items(const json& schemas, const std::string& pointer) {
    for (std::size_t i = 0; schemas.is_array() && i < schemas.size(); ++i)
      look_at(schemas[i], pointer + "/" + std::to_string(i));
  }

  const std::size_t most_;
};

}  // namespace

std::vector<unknown_word> unknown_words(const json& schema, std::size_t most) {
  word_search search(most);
  search.look_at(schema, "");
  return std::move(search.found);
}

std::vector<unknown_word> unknown_words_in_text(const std::string& schema, std::size_t most) {
  const auto read = read_json(schema, {}, {.everywhere = true});
  return read ? unknown_words(*read, most) : std::vector<unknown_word>();
}

std::string describe(const unknown_word& word) {
  if (!word.wanted.empty())
    return fmt::format("JSON Schema, at \"{}\": this {}, so it says nothing", word.pointer, word.wanted);
  return fmt::format("JSON Schema, at \"{}\": no {} of JSON Schema, so it says nothing{}", word.pointer,
                     word.is_format ? "format" : "word",
                     word.meant.empty() ? "" : ": did you mean " + word.meant + "?");
}

}  // namespace troupe::json_schema
