// Filters on the items of a list.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/chat_template/characters.hpp"
#include "runtime/chat_template/filters.hpp"

namespace troupe::jinja {
namespace {

using v = const value&;
using a = const arguments&;

// Of a text without a value for each of its characters.
value first(budget& spent, v input, a) {
  if (const auto* text = input.string(); text && !text->empty())
    return value::of(text->substr(0, first_utf8_unit(*text).size));
  const auto items = iterate(spent, input);
  return items->empty() ? value::missing("first item") : items->front();
}
value last(budget& spent, v input, a) {
  if (const auto* text = input.string(); text && !text->empty())
    return value::of(std::string(characters(*text).back()));
  const auto items = iterate(spent, input);
  return items->empty() ? value::missing("last item") : items->back();
}

value join(budget& spent, v input, a given) {
  const auto* between = given.find(0);
  const auto* path = given.find(1);
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

// What is empty in any way has no items, for map() and its kin alone: templates ask it of tools that are
// none.
std::shared_ptr<const list> items_if_any(budget& spent, v input) {
  return input.truthy() ? iterate(spent, input) : std::make_shared<const list>();
}

value map_items(budget& spent, v input, a given) {
  const auto* path = given.find("attribute");
  const auto* preset = given.find("default");
  const auto* name = given.text(spent, 0);
  const auto all = items_if_any(spent, input);
  if (all->empty()) return contain(spent, list{});
  if (path && (name || given.named.size() > (preset ? 2 : 1)))
    return spent.fail("map takes a filter's name or an attribute");
  if (!path && !name) return spent.fail("map takes a filter's name or an attribute");
  const auto passed_on = given.after(1);
  list out;
  for (const auto& item : *all) {
    if (!spent.spend(16 * passed_on.count())) return {};
    auto mapped = path ? attribute_path(spent, item, *path) : call_filter(spent, *name, item, passed_on);
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
  const auto all = items_if_any(spent, input);
  if (!all->empty() && by_attribute && !path)
    return spent.fail("selectattr and rejectattr take an attribute");
  if (!name && !given.named.empty()) return spent.fail("a test's arguments without a test");
  const auto passed_on = given.after(at + 1);
  list out;
  for (const auto& item : *all) {
    if (!spent.spend(16 * passed_on.count())) return {};
    const auto tested = by_attribute ? attribute_path(spent, item, *path) : item;
    const bool holds = name ? call_test(spent, *name, tested, passed_on) : tested.truthy();
    if (holds == wanted) out.push_back(item);
  }
  return contain(spent, std::move(out));
}

// By several keys where the attribute names them: "a,b.c".
value sort(budget& spent, v input, a given) {
  const bool reverse = given.truth(0, false), case_sensitive = given.truth(1, false);
  const auto* path = given.find(2);
  std::vector<value> paths;
  if (path && path->string()) {
    arguments comma;
    comma.positional.emplace_back(value::of(std::string(",")));
    paths = *iterate(spent, call_method(spent, *path, "split", comma));
  }
  std::vector<std::pair<value, value>> keyed;
  const auto all = iterate(spent, input);
  for (const auto& item : *all) {
    if (!spent.spend(item.size() + 256)) return {};
    list keys;
    for (const auto& each : paths) keys.push_back(sort_key(spent, item, &each, case_sensitive));
    auto key = paths.size() > 1 ? contain(spent, std::move(keys), true)
               : paths.empty()  ? sort_key(spent, item, path, case_sensitive)
                                : keys.front();
    keyed.emplace_back(std::move(key), item);
  }
  list out;
  for (auto& [key, item] : sorted_by_key(spent, std::move(keyed), reverse)) out.push_back(std::move(item));
  return contain(spent, std::move(out));
}

value unique(budget& spent, v input, a given) {
  list keys;
  list out;
  const auto all = iterate(spent, input);
  for (const auto& item : *all) {
    const auto key = sort_key(spent, item, given.find(1), given.truth(0, false));
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

// Pairs of a mapping in the order of their keys, or of their values.
value dictsort(budget& spent, v input, a given) {
  const auto* entries = input.entries();
  if (!entries) return spent.fail("dictsort takes a mapping");
  const bool case_sensitive = given.truth(0, false);
  const auto* by = given.text(spent, 1);
  if (by && *by != "key" && *by != "value") return spent.fail("dictsort sorts by 'key' or by 'value'");
  if (!spent.spend(64 * entries->entries().size())) return {};
  std::vector<std::pair<value, value>> keyed;
  for (const auto& [name, item] : entries->entries()) {
    auto pair = contain(spent, list{value_of(name), item}, true);
    keyed.emplace_back(sort_key(spent, by && *by == "value" ? item : value_of(name), nullptr, case_sensitive),
                       std::move(pair));
  }
  list out;
  for (auto& [key, pair] : sorted_by_key(spent, std::move(keyed), given.truth(2, false)))
    out.push_back(std::move(pair));
  return contain(spent, std::move(out));
}

value extreme(budget& spent, v input, a given, int sign) {
  const auto all = iterate(spent, input);
  if (all->empty()) return value::missing("item");
  const auto key_of_item = [&](v item) {
    return sort_key(spent, item, given.find(1), given.truth(0, false));
  };
  auto best = all->front();
  auto best_key = key_of_item(best);
  for (auto item = all->begin() + 1; item != all->end() && spent.spend(); ++item) {
    auto key = key_of_item(*item);
    if (sign * compare(spent, key, best_key) <= 0) continue;
    best = *item;
    best_key = std::move(key);
  }
  return best;
}

value sum(budget& spent, v input, a given) {
  const auto* path = given.find(0);
  const auto* start = given.find(1);
  auto total = start ? *start : value::of(std::int64_t{0});
  const auto all = iterate(spent, input);
  for (const auto& item : *all) {
    total = apply(spent, expression::op::add, total,
                  path && !path->is_none() ? attribute_path(spent, item, *path) : item);
    if (spent.failed()) return {};
  }
  return total;
}

}  // namespace

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

value sort_key(budget& spent, const value& item, const value* path, bool case_sensitive) {
  auto key = path && !path->is_none() ? attribute_path(spent, item, *path) : item;
  if (!key.string() || case_sensitive || !spent.spend(key.size())) return key;
  auto lowered = to_lower(*key.string());
  return lowered == *key.string() ? key : value::of(std::move(lowered));
}

std::vector<std::pair<value, value>> sorted_by_key(budget& spent, std::vector<std::pair<value, value>> keyed,
                                                   bool reverse) {
  // One comparison of each key with the first shows what has no order, before sorting relies on one. A key
  // that is alone needs none.
  for (std::size_t at = 1; at < keyed.size(); ++at) compare(spent, keyed[at].first, keyed.front().first);
  if (spent.failed()) return {};
  std::stable_sort(keyed.begin(), keyed.end(), [&](const auto& left, const auto& right) {
    const int order = compare(spent, left.first, right.first);
    return reverse ? order > 0 : order < 0;
  });
  return keyed;
}

const filters& list_filters() {
  static const filters all = {
      {"first", {first}},
      {"last", {last}},
      {"join", {join, "d attribute"}},
      {"items", {items}},
      {"list", {[](budget& spent, v input, a) { return contain(spent, *iterate(spent, input)); }}},
      {"map", {map_items, "..."}},
      {"select", {[](budget& b, v input, a given) { return choose(b, input, given, false, true); }, "..."}},
      {"reject", {[](budget& b, v input, a given) { return choose(b, input, given, false, false); }, "..."}},
      {"selectattr",
       {[](budget& b, v input, a given) { return choose(b, input, given, true, true); }, "..."}},
      {"rejectattr",
       {[](budget& b, v input, a given) { return choose(b, input, given, true, false); }, "..."}},
      {"sort", {sort, "reverse case_sensitive attribute"}},
      {"unique", {unique, "case_sensitive attribute"}},
      {"reverse", {reverse}},
      {"dictsort", {dictsort, "case_sensitive by reverse"}},
      {"min",
       {[](budget& b, v input, a given) { return extreme(b, input, given, -1); },
        "case_sensitive attribute"}},
      {"max",
       {[](budget& b, v input, a given) { return extreme(b, input, given, 1); }, "case_sensitive attribute"}},
      {"sum", {sum, "attribute start"}}};
  return all;
}

}  // namespace troupe::jinja
