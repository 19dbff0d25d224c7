// Filters on the items of a list.
#include <fmt/format.h>

#include <algorithm>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/filters.hpp"

namespace troupe::jinja {
namespace {

using v = const value&;
using a = const arguments&;

// "a.b.0": attributes of attributes.
value attribute_path(budget& spent, v item, const value& path) {
  if (path.integer()) return subscript(spent, item, path);
  if (!path.string()) return spent.fail("an attribute must be a name");
  value found = item;
  for (std::string_view rest = *path.string();;) {
    const auto name = rest.substr(0, rest.find('.'));
    const bool number =
        !name.empty() && std::all_of(name.begin(), name.end(), [](char c) { return c >= '0' && c <= '9'; });
    const auto place = number && name.size() < 10 ? std::stoll(std::string(name)) : 0;
    found = number ? subscript(spent, found, value::of(std::int64_t{place})) : attribute(spent, found, name);
    if (name.size() == rest.size()) return found;
    rest.remove_prefix(name.size() + 1);
  }
}

// Text is ordered and told apart without regard to case, unless asked.
value sort_key(budget& spent, v item, a given, bool case_sensitive) {
  const auto* path = given.find(99, "attribute");
  const auto key = path && !path->is_none() ? attribute_path(spent, item, *path) : item;
  return key.string() && !case_sensitive ? value::of(to_lower(*key.string())) : key;
}

value first(budget& spent, v input, a) {
  const auto items = iterate(spent, input);
  return items->empty() ? value::missing("first item") : items->front();
}
value last(budget& spent, v input, a) {
  const auto items = iterate(spent, input);
  return items->empty() ? value::missing("last item") : items->back();
}

value join(budget& spent, v input, a given) {
  const auto* between = given.find(0, "d");
  const auto* path = given.find(1, "attribute");
  const auto separator = between ? to_text(spent, *between) : std::string();
  std::string out;
  bool begun = false;
  const auto all = iterate(spent, input);
  for (const auto& item : *all) {
    const auto text = to_text(spent, path ? attribute_path(spent, item, *path) : item);
    const auto size = separator.size() + text.size();
    if (!spent.spend(size) || !spent.check_length(out.size() + size)) return {};
    if (std::exchange(begun, true)) out += separator;
    out += text;
  }
  return value::of(std::move(out));
}

value items(budget& spent, v input, a) {
  if (input.is_undefined()) return contain(spent, list{});
  if (!input.entries()) return spent.fail("items takes a mapping");
  return call_method(spent, input, "items", {});
}

value map_items(budget& spent, v input, a given) {
  const auto* path = given.find(99, "attribute");
  const auto* name = given.text(spent, 0);
  if (!path && (!name || !has_filter(*name))) return spent.fail("map takes a filter's name or an attribute");
  const auto* preset = given.find(99, "default");
  list out;
  const auto all = iterate(spent, input);
  for (const auto& item : *all) {
    if (!spent.spend()) return {};
    auto mapped = path ? attribute_path(spent, item, *path) : call_filter(spent, *name, item, given.after(1));
    if (path && preset && mapped.is_undefined()) mapped = *preset;
    out.push_back(std::move(mapped));
  }
  return contain(spent, std::move(out));
}

// select, reject: by a test of the item; selectattr, rejectattr: of its attribute.
value choose(budget& spent, v input, a given, bool by_attribute, bool wanted) {
  const std::size_t at = by_attribute ? 1 : 0;
  const auto* path = given.find(0);
  const auto* name = given.text(spent, at);
  if (by_attribute && !path) return spent.fail("selectattr and rejectattr take an attribute");
  if (name && !has_test(*name)) return spent.fail(fmt::format("there is no test '{}'", *name));
  list out;
  const auto all = iterate(spent, input);
  for (const auto& item : *all) {
    if (!spent.spend()) return {};
    const auto tested = by_attribute ? attribute_path(spent, item, *path) : item;
    const bool holds = name ? call_test(spent, *name, tested, given.after(at + 1)) : tested.truthy();
    if (holds == wanted) out.push_back(item);
  }
  return contain(spent, std::move(out));
}

value sort(budget& spent, v input, a given) {
  const bool reverse = given.truth(0, "reverse", false);
  const bool case_sensitive = given.truth(1, "case_sensitive", false);
  std::vector<std::pair<value, value>> keyed;
  const auto all = iterate(spent, input);
  for (const auto& item : *all) {
    if (!spent.spend(item.size() + 256)) return {};
    keyed.emplace_back(sort_key(spent, item, given, case_sensitive), item);
  }
  // All of one kind, or the order would not be one.
  for (const auto& [key, item] : keyed) compare(spent, key, keyed.front().first);
  if (spent.failed()) return {};
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& left, const auto& right) {
    const int order = compare(spent, left.first, right.first);
    return reverse ? order > 0 : order < 0;
  });
  list out;
  for (auto& [key, item] : keyed) out.push_back(std::move(item));
  return contain(spent, std::move(out));
}

value unique(budget& spent, v input, a given) {
  list keys;
  list out;
  const auto all = iterate(spent, input);
  for (const auto& item : *all) {
    const auto key = sort_key(spent, item, given, given.truth(0, "case_sensitive", false));
    const bool known = std::any_of(keys.begin(), keys.end(),
                                   [&](v other) { return spent.spend() && equal(spent, key, other); });
    if (spent.failed()) return {};
    if (known) continue;
    keys.push_back(key);
    out.push_back(item);
  }
  return contain(spent, std::move(out));
}

value reverse(budget& spent, v input, a) {
  if (const auto* text = input.string()) {
    std::string out;
    auto all = characters(*text);
    for (auto one = all.rbegin(); one != all.rend(); ++one) out += *one;
    return value::of(std::move(out));
  }
  auto items_copy = *iterate(spent, input);
  std::reverse(items_copy.begin(), items_copy.end());
  return contain(spent, std::move(items_copy));
}

value dictsort(budget& spent, v input, a) {
  const auto* entries = input.entries();
  if (!entries) return spent.fail("dictsort takes a mapping");
  if (!spent.spend(64 * entries->entries().size()) || !keys_have_order(spent, *entries)) return {};
  std::vector<std::pair<dict_key, const dict::entry*>> keyed;
  for (const auto& entry : entries->entries()) {
    const auto* text = std::get_if<std::string>(&entry.first);
    keyed.emplace_back(text ? dict_key(to_lower(*text)) : entry.first, &entry);
  }
  std::stable_sort(keyed.begin(), keyed.end(),
                   [](const auto& left, const auto& right) { return left.first < right.first; });
  list out;
  for (const auto& [key, entry] : keyed)
    out.push_back(contain(spent, list{value_of(entry->first), entry->second}, true));
  return contain(spent, std::move(out));
}

value extreme(budget& spent, v input, a given, int sign) {
  const auto all = iterate(spent, input);
  if (all->empty()) return value::missing("item");
  const auto better = [&](v left, v right) {
    return spent.spend() &&
           sign * compare(spent, sort_key(spent, left, given, false), sort_key(spent, right, given, false)) >
               0;
  };
  const value* best = &all->front();
  for (const auto& item : *all) {
    if (better(item, *best)) best = &item;
  }
  return *best;
}

value sum(budget& spent, v input, a given) {
  const auto* path = given.find(0, "attribute");
  auto total = value::of(std::int64_t{0});
  const auto all = iterate(spent, input);
  for (const auto& item : *all) {
    total = apply(spent, expression::op::add, total, path ? attribute_path(spent, item, *path) : item);
    if (spent.failed()) return {};
  }
  return total;
}

}  // namespace

const filters& list_filters() {
  static const filters all = {
      {"first", first},
      {"last", last},
      {"join", join},
      {"items", items},
      {"list", [](budget& spent, v input, a) { return contain(spent, *iterate(spent, input)); }},
      {"map", map_items},
      {"select", [](budget& spent, v input, a given) { return choose(spent, input, given, false, true); }},
      {"reject", [](budget& spent, v input, a given) { return choose(spent, input, given, false, false); }},
      {"selectattr", [](budget& spent, v input, a given) { return choose(spent, input, given, true, true); }},
      {"rejectattr",
       [](budget& spent, v input, a given) { return choose(spent, input, given, true, false); }},
      {"sort", sort},
      {"unique", unique},
      {"reverse", reverse},
      {"dictsort", dictsort},
      {"min", [](budget& spent, v input, a given) { return extreme(spent, input, given, -1); }},
      {"max", [](budget& spent, v input, a given) { return extreme(spent, input, given, 1); }},
      {"sum", sum}};
  return all;
}

bool has_filter(std::string_view name) {
  return text_filters().contains(name) || list_filters().contains(name);
}

value call_filter(budget& spent, std::string_view name, const value& input, const arguments& given) {
  const budget::level level(spent);
  if (!spent.spend(input.string() ? 4 * input.size() : 0)) return {};
  const auto found = text_filters().find(name);
  return found != text_filters().end() ? found->second(spent, input, given)
                                       : list_filters().find(name)->second(spent, input, given);
}

}  // namespace troupe::jinja
