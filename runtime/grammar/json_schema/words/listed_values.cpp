#include "runtime/grammar/json_schema/words/listed_values.hpp"

#include <algorithm>
#include <string_view>
#include <utility>

#include "runtime/grammar/json_schema/words/words.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::size_t key_bytes_in_a_step = 64;

// Strings begin with their length, so that no key is the beginning of another.
void append_text(const std::string& text, std::string& key) {
  key.append("s").append(std::to_string(text.size())).append(":").append(text);
}

void append_key(workspace& work, const json& value, std::string& key) {
  const std::size_t before = key.size();
  if (value.is_string()) {
    append_text(value.get_ref<const std::string&>(), key);
  } else if (is_number(value)) {
    const decimal number = to_decimal(value);
    key.append(number.negative ? "-" : "+").append(number.whole).append(".").append(number.fraction);
  } else if (value.is_array()) {
    key += '[';
    for (const json& item : value) append_key(work, item, key);
    key += ']';
  } else if (value.is_object()) {
    std::vector<const json::object_t::value_type*> members;
    for (const auto& member : value.get_ref<const json::object_t&>()) members.push_back(&member);
    std::ranges::sort(members, {}, [](const auto* member) -> const std::string& { return member->first; });
    key += '{';
    for (const auto* member : members) {
      append_text(member->first, key);
      append_key(work, member->second, key);
    }
    key += '}';
  } else {
    key += value.dump();
  }
  work.spend(1 + (key.size() - before) / key_bytes_in_a_step);
}

}  // namespace

std::optional<std::vector<const json*>> listed_values(const workspace& work, term_id of) {
  static const json null_value = nullptr, yes = true, no = false;
  const term& known = work.terms[of];
  std::vector<const json*> out;
  if (known.what == term::kind::value) return std::vector{known.node};
  if (known.what == term::kind::schema) {
    if (work.document.version() <= draft::draft7 && known.node->contains("$ref")) return std::nullopt;
    if (const json* constant = find_word(work, *known.node, "const")) return std::vector{constant};
    if (const json* list = find_word(work, *known.node, "enum"); list != nullptr && list->is_array()) {
      for (const json& each : *list) out.push_back(&each);
      return out;
    }
    const json* type = find_word(work, *known.node, "type");
    if (type != nullptr && *type == "boolean") return std::vector{&yes, &no};
    if (type != nullptr && *type == "null") return std::vector{&null_value};
  }
  if (known.what == term::kind::all_of)
    for (const term_id operand : known.operands)
      if (auto found = listed_values(work, operand)) return found;
  return std::nullopt;
}

void keep_common(workspace& work, std::vector<const json*>& left, const std::vector<const json*>& right) {
  std::erase_if(left, [&](const json* each) {
    return std::ranges::none_of(
        right, [&](const json* other) { return !work.spend() || are_equal(work, *each, *other); });
  });
}

bool lists_exclude_each_other(workspace& work, term_id of) {
  constexpr std::size_t most_compared = 256;
  const term& known = work.terms[of];
  if (known.what != term::kind::all_of) return false;
  std::optional<std::vector<const json*>> left;
  for (const term_id operand : known.operands) {
    auto values = listed_values(work, operand);
    if (!values) continue;
    if (!left) {
      left = std::move(values);
      continue;
    }
    if (left->size() * values->size() <= most_compared) keep_common(work, *left, *values);
  }
  return left && left->empty() && !work.failed();
}

std::string key_of(workspace& work, const json& value) {
  std::string key;
  append_key(work, value, key);
  return key;
}

bool are_equal(workspace& work, const json& a, const json& b) {
  if (a.is_string() && b.is_string()) return a == b;
  return a.is_string() == b.is_string() && key_of(work, a) == key_of(work, b);
}

}  // namespace troupe::json_schema
