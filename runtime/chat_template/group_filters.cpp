// Filters that make several lists of one.
#include <algorithm>
#include <utility>

#include "runtime/chat_template/filters.hpp"

namespace troupe::jinja {
namespace {

using v = const value&;
using a = const arguments&;

// Pairs of what the items have at `attribute` and the list of those that have it, in its order.
value groupby(budget& spent, v input, a given) {
  const auto* path = given.find(0);
  const auto* preset = given.find(1);
  if (!path) return spent.fail("groupby takes an attribute");
  const bool case_sensitive = given.truth(2, false);
  const auto found_at = [&](v item) {
    auto found = attribute_path(spent, item, *path);
    return preset && found.is_undefined() ? *preset : found;
  };
  std::vector<std::pair<value, value>> keyed;
  const auto all = iterate(spent, input);
  for (const auto& item : *all) {
    if (!spent.spend(item.size() + 256)) return {};
    keyed.emplace_back(sort_key(spent, found_at(item), nullptr, case_sensitive), item);
  }
  keyed = sorted_by_key(spent, std::move(keyed), false);
  list groups;
  for (auto begin = keyed.begin(); begin != keyed.end() && !spent.failed();) {
    list members;
    auto end = begin;
    while (end != keyed.end() && equal(spent, end->first, begin->first)) members.push_back((end++)->second);
    if (end == begin) return spent.fail("groupby: a key that is not equal to itself");
    auto name = found_at(members.front());
    groups.push_back(contain(spent, list{std::move(name), contain(spent, std::move(members))}, true));
    begin = end;
  }
  return contain(spent, std::move(groups));
}

// Lists of `linecount` items, the last one filled up with `fill_with` where that is given.
value batch(budget& spent, v input, a given) {
  const auto count = given.integer(spent, 0);
  const auto* fill = given.find(1);
  if (!count || *count < 1) return spent.fail("batch takes a number of items from 1 on");
  list batches, current;
  const auto finish = [&] { batches.push_back(contain(spent, std::exchange(current, {}))); };
  const auto all = iterate(spent, input);
  for (const auto& item : *all) {
    if (!spent.spend()) return {};
    current.push_back(item);
    if (static_cast<std::int64_t>(current.size()) == *count) finish();
  }
  while (fill && !fill->is_none() && !current.empty() && static_cast<std::int64_t>(current.size()) < *count) {
    if (!spent.spend()) return {};
    current.push_back(*fill);
  }
  if (!current.empty()) finish();
  return contain(spent, std::move(batches));
}

// `slices` lists, the first of them longer by one where the items do not come out even; the others then end
// with `fill_with` where that is given.
value slices(budget& spent, v input, a given) {
  const auto count = given.integer(spent, 0);
  const auto* fill = given.find(1);
  if (!count || *count < 1) return spent.fail("slice takes a number of lists from 1 on");
  const auto all = iterate(spent, input);
  const auto size = static_cast<std::int64_t>(all->size());
  list out;
  for (std::int64_t at = 0, begin = 0; at < *count; ++at) {
    const auto end = begin + size / *count + (at < size % *count ? 1 : 0);
    if (!spent.spend(static_cast<std::size_t>(end - begin))) return {};
    list part(all->begin() + begin, all->begin() + end);
    if (fill && !fill->is_none() && at >= size % *count) part.push_back(*fill);
    out.push_back(contain(spent, std::move(part)));
    begin = end;
  }
  return contain(spent, std::move(out));
}

}  // namespace

const filters& group_filters() {
  static const filters all = {{"groupby", {groupby, "attribute default case_sensitive"}},
                              {"batch", {batch, "linecount fill_with"}},
                              {"slice", {slices, "slices fill_with"}}};
  return all;
}

}  // namespace troupe::jinja
