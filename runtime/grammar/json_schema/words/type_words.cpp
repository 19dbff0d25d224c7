#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <memory>
#include <set>
#include <string>
#include <utility>

#include "runtime/grammar/json_schema/numbers/number_reach.hpp"
#include "runtime/grammar/json_schema/numbers/scientific_language.hpp"
#include "runtime/grammar/json_schema/values/set_algebra.hpp"
#include "runtime/grammar/json_schema/values/set_table.hpp"
#include "runtime/grammar/json_schema/words/words.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::array<std::string_view, 6> all_types{"null", "boolean", "number", "string", "array", "object"};
constexpr std::size_t digits_in_a_step = 64;
constexpr std::size_t most_values_with_reach = 256;  // of a schema
constexpr std::uint32_t most_zeros_more = 2;         // 1.000, 0.500
// Words under which another schema may evaluate members or items of the same instance.
constexpr std::array<const char*, 11> applicators{
    "$ref", "$dynamicRef", "$recursiveRef",    "allOf",        "anyOf",   "oneOf",
    "not",  "if",          "dependentSchemas", "dependencies", "contains"};

// unevaluatedItems and unevaluatedProperties mean the same as additionalItems and additionalProperties where
// nothing else evaluates; elsewhere they are refused.
void check_unevaluated(workspace& work, const json& node) {
  for (const char* word : {"unevaluatedItems", "unevaluatedProperties"}) {
    const auto rest = schema_word(work, node, word);
    if (!rest || *rest == term_id::anything) continue;
    if (std::any_of(applicators.begin(), applicators.end(),
                    [&](const char* other) { return node.contains(other); }))
      work.refuse(node, word, "cannot be enforced beside schemas that apply to the same value");
  }
}

regex_id reach_of(workspace& work, regex_id all_spellings, const std::vector<decimal>& values) {
  std::vector<regex_id> reach{all_spellings};
  work.values_with_reach += values.size();
  if (work.values_with_reach > most_values_with_reach)
    reach.push_back(reach_of_many(work.regex));
  else
    for (const decimal& value : values) reach.push_back(reach_of_value(work.regex, value));
  return values.empty() ? work.regex.nothing() : work.regex.alternation(reach);
}

// Numbers by their texts, whole ones apart: any of them, then a few zeros behind the point, so that a model
// does not go on with them for ever, unless integers are plain. With an exponent only as most programs write
// them.
number_texts one_of_numbers(workspace& work, const std::vector<const json*>& numbers) {
  regex_store& regex = work.regex;
  std::vector<std::string> whole;
  std::vector<std::string> fractional, as_they_are, scientific;
  std::vector<decimal> values;
  regex_id zero = regex.nothing();
  for (const json* number : numbers) {
    const decimal& value = values.emplace_back(to_decimal(*number));
    if (!work.spend((value.whole.size() + value.fraction.size()) / digits_in_a_step)) break;
    const bool is_plain = work.options.plain_integers && value.is_integer();
    if (auto text = scientific_text(value); text && !is_plain) scientific.push_back(std::move(*text));
    if (value.is_zero())
      zero = regex.one_of({"0", "-0", "0.0", "-0.0"});
    else if (value.is_integer() && !is_a_double(value))
      as_they_are.push_back(to_text(value));
    else if (value.is_integer())
      whole.push_back(to_text(value));
    else
      fractional.push_back(to_text(value));
  }
  work.numbers.name(regex, values);
  const regex_id whole_ones = regex.one_of(std::move(whole)), others = regex.one_of(std::move(fractional)),
                 large_ones = regex.one_of(std::move(as_they_are));
  const auto texts = [&](regex_id zero_texts, regex_id behind_whole, regex_id behind_fraction) {
    return regex.alternation({zero_texts, large_ones, regex.concat({whole_ones, behind_whole}),
                              regex.concat({others, behind_fraction})});
  };
  const auto with_zeros = [&](regex_id zeros) {
    return texts(zero, regex.optional(regex.concat({regex.literal(".0"), zeros})), zeros);
  };
  const regex_id few_zeros = regex.repeat(regex.literal("0"), 0, most_zeros_more);
  const regex_id plain_zero = zero == regex.nothing() ? zero : regex.literal("0");
  const regex_id written =
      work.options.plain_integers ? texts(plain_zero, regex.empty(), few_zeros) : with_zeros(few_zeros);
  const regex_id outside =
      values.empty() ? work.text.scientific : scientific_unlike(regex, work.text.scientific, values);
  return {written, reach_of(work, with_zeros(regex.star(regex.literal("0"))), values),
          regex.one_of(std::move(scientific)), outside};
}

void add_numbers(const number_texts& texts, value_set& out) {
  out.numbers = texts.numbers;
  out.number_reach = texts.reach;
  out.scientific = texts.scientific;
  out.outside = texts.outside;
  out.only_exact = texts.only_exact;
}

array_set exactly(workspace& work, const json::array_t& value) {
  array_set out;
  out.min = out.max = static_cast<std::uint32_t>(value.size());
  out.items = term_id::never;
  for (const json& item : value) out.prefix.push_back(work.terms.value(item));
  return out;
}

object_set exactly(workspace& work, const json& value) {
  member_rule rule;
  object_set out;
  for (const auto& [name, member] : value.items()) {
    rule.properties.emplace_back(name, work.terms.value(member));
    out.required.push_back(name);
  }
  rule.additional = term_id::never;
  out.rules.push_back(std::make_shared<const member_rule>(std::move(rule)));
  return out;
}

}  // namespace

value_set set_table::of_values(std::span<const json* const> values, const json& node) {
  value_set out = no_values(work_);
  std::vector<std::string> strings;
  std::vector<const json*> numbers;
  for (const json* value : values) {
    if (!work_.spend()) return out;
    if (value->is_null())
      out.null = true;
    else if (value->is_boolean())
      (value->get<bool>() ? out.yes : out.no) = true;
    else if (value->is_string())
      strings.push_back(spell(value->get_ref<const std::string&>()));
    else if (is_number(*value))
      numbers.push_back(value);
    else if (value->is_array())
      out.arrays.push_back(exactly(work_, value->get_ref<const json::array_t&>()));
    else
      out.objects.push_back(exactly(work_, *value));
  }
  if (std::max(out.arrays.size(), out.objects.size()) > work_.limits.max_alternatives)
    work_.refuse(
        node, "enum",
        fmt::format("has more arrays or objects than {} (max_alternatives)", work_.limits.max_alternatives));
  out.strings = out.reach = work_.regex.one_of(std::move(strings));
  const number_texts texts = one_of_numbers(work_, numbers);
  add_numbers(texts, out);
  return out;
}

void set_table::narrow_by_values(const json& node, value_set& out) {
  if (const json* constant = find_word(work_, node, "const")) {
    const std::array<const json*, 1> single{constant};
    narrow(out, of_values(single, node), *constant);
  }
  const json* list = find_word(work_, node, "enum");
  if (list == nullptr) return;
  if (!list->is_array()) {
    work_.malformed(node, "enum", "must be an array");
    return;
  }
  std::vector<const json*> values;
  for (const json& each : *list) values.push_back(&each);
  narrow(out, of_values(values, node), *list);
}

object_set set_table::of_object(const json& node) {
  object_set out = object_words(work_, node);
  if (const auto names = schema_word(work_, node, "propertyNames"); names && *names != term_id::anything) {
    const value_set& allowed = set_of(*names);
    if (allowed.strings != work_.text.any_body) out.names.push_back({allowed.strings, allowed.reach});
  }
  return out;
}

void set_table::add_type(const json& node, std::string_view type, value_set& out) {
  regex_store& regex = work_.regex;
  const json_text& text = work_.text;
  if (type == "null")
    out.null = true;
  else if (type == "boolean")
    out.yes = out.no = true;
  else if (type == "string") {
    const string_bodies bodies = string_words(work_, node);
    out.strings = bodies.sure;
    out.reach = bodies.reach;
  } else if (type == "array")
    out.arrays = {array_words(work_, node)};
  else if (type == "object")
    out.objects = {of_object(node)};
  else if (type == "number") {
    const auto texts =
        number_words(work_, node, {text.number, text.number, text.scientific, regex.nothing()});
    add_numbers(texts, out);
  } else if (type == "integer") {
    // In draft 4 an integer is a matter of spelling.
    const bool by_spelling = work_.document.version() == draft::draft4;
    const regex_id plain = regex.concat({regex.optional(regex.literal("-")), text.whole});
    if (!work_.integer_reach)
      work_.integer_reach = regex.alternation({text.integer, reach_of_integers(regex)});
    number_texts all = by_spelling ? number_texts{plain, plain, regex.nothing(), text.scientific}
                                   : number_texts{text.integer, *work_.integer_reach, text.scientific_integer,
                                                  scientific_fractions(regex, text.scientific)};
    if (work_.options.plain_integers) {
      all.numbers = text.plain_integer;
      all.scientific = regex.nothing();
    }
    const auto texts = number_words(work_, node, all);
    add_numbers(texts, out);
  } else {
    work_.malformed(node, "type",
                    "must name a type of JSON: array, boolean, integer, null, number, object or string");
  }
}

value_set set_table::of_types(const json& node) {
  check_unevaluated(work_, node);
  value_set out = no_values(work_);
  const json* type = find_word(work_, node, "type");
  if (type == nullptr) {
    for (const std::string_view each : all_types) add_type(node, each, out);
    return out;
  }
  std::set<std::string> types;
  if (type->is_string())
    types.insert(type->get<std::string>());
  else if (type->is_array() && !type->empty())
    for (const json& each : *type) types.insert(each.is_string() ? each.get<std::string>() : "");
  else
    work_.malformed(node, "type", "must be a type, or an array of types that is not empty");
  if (types.contains("number")) types.erase("integer");
  for (const std::string& each : types) add_type(node, each, out);
  return out;
}

}  // namespace troupe::json_schema
