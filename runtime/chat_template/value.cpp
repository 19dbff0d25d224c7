#include "runtime/chat_template/value.hpp"

#include <algorithm>
#include <charconv>

#include "runtime/json/exact_number.hpp"

namespace troupe::jinja {
namespace {

constexpr std::size_t index_from = 16;  // entries; below that, looking at each is as fast

double real_of(std::string_view text) {
  double number = 0;
  std::from_chars(text.data(), text.data() + text.size(), number);
  return number;
}

}  // namespace

dict::dict(std::vector<entry> entries) {
  const bool indexed = entries.size() >= index_from;
  entries_.reserve(entries.size());
  for (auto& [key, item] : entries) {
    auto place = entries_.size();
    if (indexed) {
      place = index_.try_emplace(key, place).first->second;
    } else {
      const auto same = [&key = key](const auto& entry) { return entry.first == key; };
      place =
          static_cast<std::size_t>(std::find_if(entries_.begin(), entries_.end(), same) - entries_.begin());
    }
    if (place == entries_.size()) {
      entries_.emplace_back(std::move(key), std::move(item));
    } else {
      entries_[place].second = std::move(item);
    }
  }
}

const value* dict::find(const dict_key& key) const {
  if (index_.empty()) return find_entry([&key](const dict_key& each) { return each == key; });
  const auto found = index_.find(key);
  return found == index_.end() ? nullptr : &entries_[found->second].second;
}

// No key is made of a name that few entries are compared with: templates look for one at every turn.
const value* dict::find(std::string_view key) const {
  if (!index_.empty()) return find(dict_key(std::string(key)));
  return find_entry([key](const dict_key& each) {
    const auto* const text = std::get_if<std::string>(&each);
    return text != nullptr && *text == key;
  });
}

template <class Is>
const value* dict::find_entry(Is is_it) const {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const entry& each) { return is_it(each.first); });
  return found == entries_.end() ? nullptr : &found->second;
}

std::optional<dict_key> key_of(const value& given) {
  if (const auto* text = given.string()) return *text;
  if (const auto whole = given.integer()) return *whole;
  const auto* real = given.get<double>();
  constexpr double past_the_last = 9223372036854775808.0;
  if (!real || !(*real >= -past_the_last && *real < past_the_last)) return std::nullopt;
  const auto whole = static_cast<std::int64_t>(*real);
  if (static_cast<double>(whole) != *real) return std::nullopt;
  return whole;
}

value value_of(const dict_key& key) {
  return std::visit([](const auto& held) { return value::of(held); }, key);
}

std::optional<value> value::of(list items, bool tuple) {
  std::uint32_t depth = 0;
  for (const auto& item : items) {
    if (!item.may_be_stored()) return std::nullopt;
    depth = std::max(depth, item.depth());
  }
  if (depth >= max_depth) return std::nullopt;
  return value(variant(sequence{std::make_shared<const list>(std::move(items)), depth + 1, tuple}));
}

std::optional<value> value::of(dict entries) {
  std::uint32_t depth = 0;
  for (const auto& [key, item] : entries.entries()) {
    if (!item.may_be_stored()) return std::nullopt;
    depth = std::max(depth, item.depth());
  }
  if (depth >= max_depth) return std::nullopt;
  return value(variant(mapping{std::make_shared<const dict>(std::move(entries)), depth + 1}));
}

bool value::may_be_stored() const { return !get<std::shared_ptr<loop_state>>(); }

std::uint32_t value::depth() const {
  if (const auto* nested = get<sequence>()) return nested->depth;
  if (const auto* nested = get<mapping>()) return nested->depth;
  return 0;
}

bool value::truthy() const {
  if (is_undefined() || is_none()) return false;
  if (const auto number_value = number()) return *number_value != 0;
  if (string() || items() || entries()) return size() > 0;
  return true;
}

std::optional<std::int64_t> value::integer() const {
  if (const auto* whole = get<std::int64_t>()) return *whole;
  if (const auto* truth_value = get<bool>()) return *truth_value ? 1 : 0;
  return std::nullopt;
}

std::optional<double> value::number() const {
  if (const auto* real = get<double>()) return *real;
  if (const auto whole = integer()) return static_cast<double>(*whole);
  if (const auto* large = get<large_integer>()) return real_of(*large->digits);
  return std::nullopt;
}

const char* value::type_name() const {
  static constexpr const char* names[] = {"Undefined", "NoneType", "bool",   "int",       "float",
                                          "str",       "list",     "dict",   "Namespace", "LoopContext",
                                          "Macro",     "function", "Cycler", "Joiner",    "int"};
  return names[data_.index()];
}

std::size_t value::size() const {
  if (const auto* characters = string()) return characters->size();
  if (const auto* elements = items()) return elements->size();
  if (const auto* pairs = entries()) return pairs->entries().size();
  return 0;
}

std::optional<value> from_json(const json& document, std::uint32_t depth) {
  using kind = json::value_t;
  if (depth > value::max_depth) return std::nullopt;
  switch (document.type()) {
    case kind::boolean:
      return value::truth(document.get<bool>());
    case kind::number_integer:
      return value::of(document.get<std::int64_t>());
    case kind::number_unsigned: {
      const auto number = document.get<std::uint64_t>();
      if (number > INT64_MAX) return value::large(std::to_string(number));
      return value::of(static_cast<std::int64_t>(number));
    }
    case kind::number_float:
      return value(value::variant(document.get<double>()));
    case kind::binary: {
      const auto text = kept_number(document).value_or("0");
      if (text.find_first_of(".eE") == std::string_view::npos) return value::large(std::string(text));
      return value(value::variant(real_of(text)));
    }
    case kind::string:
      return value::of(document.get<std::string>());
    case kind::array: {
      list items;
      items.reserve(document.size());
      for (const auto& element : document) {
        auto item = from_json(element, depth + 1);
        if (!item) return std::nullopt;
        items.push_back(std::move(*item));
      }
      return value::of(std::move(items));
    }
    case kind::object: {
      std::vector<dict::entry> entries;
      entries.reserve(document.size());
      for (const auto& [key, element] : document.items()) {
        auto item = from_json(element, depth + 1);
        if (!item) return std::nullopt;
        entries.emplace_back(key, std::move(*item));
      }
      return value::of(dict(std::move(entries)));
    }
    default:
      return value::nothing();
  }
}

}  // namespace troupe::jinja
