#include "runtime/grammar/json_schema/values/set_algebra.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_set>

namespace troupe::json_schema {
namespace {

constexpr std::size_t steps_per_alternative = 16;  // to make one that says one thing

regex_id both(regex_store& regex, regex_id a, regex_id b, regex_id all) {
  if (a == all) return b;
  if (b == all) return a;
  return regex.intersection({a, b});
}

regex_id either(regex_store& regex, regex_id a, regex_id b, regex_id all) {
  return a == all || b == all ? all : regex.alternation({a, b});
}

// `written`: all, where some of it is left out.
regex_id others(regex_store& regex, regex_id of, regex_id all, regex_id written) {
  if (of == regex.nothing()) return all;
  return of == all ? regex.nothing() : regex.difference(written, of);
}

term_id items_at(const array_set& array, std::size_t i) {
  return i < array.prefix.size() ? array.prefix[i] : array.items;
}

bool is_any(const array_set& array) {
  return array.prefix.empty() && array.items == term_id::anything && array.min == 0 &&
         array.max == unbounded && array.counts.empty() && array.unique == nullptr;
}

bool is_any(const object_set& object) {
  return object.rules.empty() && object.required.empty() && object.names.empty() &&
         object.witnesses.empty() && object.min == 0 && object.max == unbounded;
}

template <class Set>
std::size_t weight_of_all(const std::vector<Set>& sets) {
  std::size_t sum = 0;
  for (const Set& each : sets) sum += 4 + weight(each);
  return sum;
}

template <class Set, class Both>
std::vector<Set> products(workspace& work, const std::vector<Set>& a, const std::vector<Set>& b,
                          const json& node, Both&& combine) {
  std::vector<Set> out;
  const bool is_first_any = a.size() == 1 && is_any(a.front());
  if (is_first_any || (b.size() == 1 && is_any(b.front()))) {
    const std::vector<Set>& other = is_first_any ? b : a;
    if (work.spend(weight_of_all(other))) out = other;
    return out;
  }
  for (const Set& x : a) {
    for (const Set& y : b) {
      if (!work.spend(1 + weight(x) + weight(y))) return {};
      Set made = combine(x, y);
      if (made.min > made.max) continue;
      out.push_back(std::move(made));
      if (out.size() <= work.limits.max_alternatives) continue;
      work.refuse(node, "",
                  fmt::format("makes more alternatives, multiplied out, than {} (max_alternatives)",
                              work.limits.max_alternatives));
      return {};
    }
  }
  return out;
}

object_set rule_alone(member_rule rule) {
  object_set out;
  out.rules.push_back(std::make_shared<const member_rule>(std::move(rule)));
  return out;
}

// A member that the rule allows no more: the alternatives. One for each of `missing`, which may be without it
// as well: those that have such an alternative are taken out.
void complement_rule(workspace& work, const member_rule& rule, std::unordered_set<std::string_view>& missing,
                     std::vector<object_set>& out) {
  std::vector<std::string> named;
  std::vector<regex_id> known;
  for (const auto& [name, values] : rule.properties) {
    if (!work.spend(steps_per_alternative + name.size() / 16)) return;
    named.push_back(spell(name));
    if (values == term_id::anything) continue;
    object_set present = rule_alone({{{name, work.terms.negation(values)}}, {}, term_id::anything});
    if (missing.erase(name) == 0) present.required.push_back(name);
    out.push_back(std::move(present));
  }
  for (const auto& [names, values] : rule.patterns) {
    known.push_back(names);
    if (values == term_id::anything) continue;
    object_set present;
    present.witnesses.push_back({{names, names}, work.terms.negation(values), rule.origin});
    out.push_back(std::move(present));
  }
  if (rule.additional == term_id::anything) return;
  known.push_back(work.regex.one_of(std::move(named)));
  object_set present;
  const regex_id others = work.regex.difference(work.text.spelled_body, work.regex.alternation(known));
  present.witnesses.push_back({{others, others}, work.terms.negation(rule.additional), rule.origin});
  out.push_back(std::move(present));
}

}  // namespace

std::size_t weight(const array_set& of) { return of.prefix.size() / 4 + 2 * of.counts.size(); }

std::size_t weight(const object_set& of) {
  std::size_t steps = of.rules.size() + of.names.size() / 4 + of.witnesses.size() / 2;
  for (const std::string& name : of.required) steps += 2 + name.size() / 16;
  return steps;
}

std::size_t weight(const value_set& of) { return weight_of_all(of.arrays) + weight_of_all(of.objects); }

value_set no_values(workspace& work) {
  value_set out;
  out.numbers = out.number_reach = out.scientific = out.strings = out.reach = work.regex.nothing();
  out.outside = work.text.scientific;
  return out;
}

bool has_nothing(const workspace& work, const value_set& of) {
  const regex_id nothing = work.regex.nothing();
  return !of.null && !of.yes && !of.no && of.numbers == nothing && of.number_reach == nothing &&
         of.scientific == nothing && of.strings == nothing && of.reach == nothing && of.arrays.empty() &&
         of.objects.empty();
}

value_set all_values(workspace& work) {
  value_set out;
  out.null = out.yes = out.no = true;
  out.numbers = out.number_reach = work.text.number;
  out.scientific = work.text.scientific;
  out.outside = work.regex.nothing();
  out.strings = out.reach = work.text.any_body;
  out.arrays.emplace_back();
  out.objects.emplace_back();
  return out;
}

array_set intersect(workspace& work, const array_set& a, const array_set& b) {
  array_set out;
  for (std::size_t i = 0; i < std::max(a.prefix.size(), b.prefix.size()); ++i)
    out.prefix.push_back(work.terms.all_of(items_at(a, i), items_at(b, i)));
  out.items = work.terms.all_of(a.items, b.items);
  out.min = std::max(a.min, b.min);
  out.max = std::min(a.max, b.max);
  out.counts = a.counts;
  out.counts.insert(out.counts.end(), b.counts.begin(), b.counts.end());
  out.unique = a.unique != nullptr ? a.unique : b.unique;
  return out;
}

object_set intersect(const object_set& a, const object_set& b) {
  object_set out = a;
  for (const auto& rule : b.rules)
    if (std::find(out.rules.begin(), out.rules.end(), rule) == out.rules.end()) out.rules.push_back(rule);
  const std::unordered_set<std::string_view> known(a.required.begin(), a.required.end());
  for (const std::string& name : b.required)
    if (!known.contains(name)) out.required.push_back(name);
  out.names.insert(out.names.end(), b.names.begin(), b.names.end());
  out.witnesses.insert(out.witnesses.end(), b.witnesses.begin(), b.witnesses.end());
  out.min = std::max(a.min, b.min);
  out.max = std::min(a.max, b.max);
  return out;
}

value_set intersect(workspace& work, const value_set& a, const value_set& b, const json& node) {
  value_set out;
  out.null = a.null && b.null;
  out.yes = a.yes && b.yes;
  out.no = a.no && b.no;
  out.numbers = both(work.regex, a.numbers, b.numbers, work.text.number);
  out.number_reach = both(work.regex, a.number_reach, b.number_reach, work.text.number);
  out.only_exact = a.only_exact || b.only_exact;
  out.scientific = both(work.regex, a.scientific, b.scientific, work.text.scientific);
  out.outside = either(work.regex, a.outside, b.outside, work.text.scientific);
  out.strings = both(work.regex, a.strings, b.strings, work.text.any_body);
  const bool is_sure = a.reach == a.strings && b.reach == b.strings;
  out.reach = is_sure ? out.strings : both(work.regex, a.reach, b.reach, work.text.any_body);
  out.arrays = products(work, a.arrays, b.arrays, node,
                        [&](const array_set& x, const array_set& y) { return intersect(work, x, y); });
  out.objects = products(work, a.objects, b.objects, node,
                         [](const object_set& x, const object_set& y) { return intersect(x, y); });
  return out;
}

// All at once: one after the other, each sum of many would be copied for the next.
value_set unite(workspace& work, std::span<const value_set* const> sets) {
  value_set out = no_values(work);
  std::vector<regex_id> numbers, number_reach, scientific, strings, reach, outside;
  const auto add = [](auto& all, const auto& more) {
    const auto is_whole = [](const auto& set) { return is_any(set); };
    if (std::ranges::any_of(more, is_whole))
      all.assign(1, {});
    else if (all.empty() || !is_any(all.front()))
      all.insert(all.end(), more.begin(), more.end());
  };
  for (const value_set* each : sets) {
    if (!work.spend(weight(*each))) return out;
    out.null |= each->null;
    out.yes |= each->yes;
    out.no |= each->no;
    numbers.push_back(each->numbers);
    number_reach.push_back(each->number_reach);
    out.only_exact |= each->only_exact;
    scientific.push_back(each->scientific);
    strings.push_back(each->strings);
    reach.push_back(each->reach);
    if (each->outside != work.text.scientific) outside.push_back(each->outside);
    add(out.arrays, each->arrays);
    add(out.objects, each->objects);
  }
  out.numbers = work.regex.alternation(numbers);
  out.number_reach = work.regex.alternation(number_reach);
  out.scientific = work.regex.alternation(scientific);
  out.strings = work.regex.alternation(strings);
  out.reach = reach == strings ? out.strings : work.regex.alternation(reach);
  if (!outside.empty()) out.outside = work.regex.intersection(outside);
  return out;
}

value_set unite(workspace& work, const value_set& a, const value_set& b) {
  const std::array<const value_set*, 2> both{&a, &b};
  return unite(work, both);
}

std::vector<array_set> complement(workspace& work, const array_set& of, const json& node) {
  std::vector<array_set> out;
  if (of.unique != nullptr) work.refuse(*of.unique, "uniqueItems", "cannot be negated");
  if (of.min > 0) out.push_back({.max = of.min - 1});
  if (of.max != unbounded) out.push_back({.min = of.max + 1});
  for (std::size_t i = 0; i < of.prefix.size(); ++i) {
    if (of.prefix[i] == term_id::anything) continue;
    if (!work.spend(1 + i)) return out;
    array_set wrong{.min = static_cast<std::uint32_t>(i) + 1};
    wrong.prefix.assign(i, term_id::anything);
    wrong.prefix.push_back(work.terms.negation(of.prefix[i]));
    out.push_back(std::move(wrong));
  }
  if (of.items != term_id::anything) {
    const auto behind = static_cast<std::uint32_t>(of.prefix.size());
    if (of.items == term_id::never)
      out.push_back({.min = behind + 1});
    else
      out.push_back({.counts = {{work.terms.negation(of.items), 1, unbounded, &node, behind}}});
  }
  for (const item_count& count : of.counts) {
    if (count.min > 0) out.push_back({.counts = {{count.items, 0, count.min - 1, count.origin, count.from}}});
    if (count.max != unbounded)
      out.push_back({.counts = {{count.items, count.max + 1, unbounded, count.origin, count.from}}});
  }
  return out;
}

std::vector<object_set> complement(workspace& work, const object_set& of) {
  std::vector<object_set> out;
  std::unordered_set<std::string_view> missing(of.required.begin(), of.required.end());
  for (const auto& rule : of.rules) complement_rule(work, *rule, missing, out);
  for (const std::string& name : of.required) {
    if (!work.spend(steps_per_alternative + name.size() / 16)) return out;
    if (missing.contains(name)) out.push_back(rule_alone({{{name, term_id::never}}, {}, term_id::anything}));
  }
  if (of.min > 0) {
    out.emplace_back();
    out.back().max = of.min - 1;
  }
  if (of.max != unbounded) {
    out.emplace_back();
    out.back().min = of.max + 1;
  }
  const auto other_names = [&](regex_id than) { return work.regex.difference(work.text.spelled_body, than); };
  for (const auto& [sure, reached] : of.names) {
    out.emplace_back();
    out.back().witnesses.push_back({{other_names(reached), other_names(sure)}, term_id::anything});
  }
  for (const witness& each : of.witnesses)
    out.push_back(rule_alone(
        {{}, {{each.names.reach, work.terms.negation(each.values)}}, term_id::anything, each.origin}));
  return out;
}

value_set complement(workspace& work, const value_set& of, const json& node) {
  value_set out;
  out.null = !of.null;
  out.yes = !of.yes;
  out.no = !of.no;
  out.numbers = others(work.regex, of.number_reach, work.text.number, work.text.number);
  out.number_reach = others(work.regex, of.numbers, work.text.number, work.text.number);
  out.only_exact = out.numbers != work.text.number && out.numbers != work.regex.nothing();
  out.strings = others(work.regex, of.reach, work.text.any_body, work.text.spelled_body);
  out.reach = others(work.regex, of.strings, work.text.any_body, work.text.spelled_body);
  const bool has_none = of.number_reach == work.regex.nothing() && of.scientific == work.regex.nothing();
  out.scientific = has_none ? work.text.scientific : of.outside;
  out.outside = of.scientific;
  out.arrays = {array_set{}};
  for (const array_set& each : of.arrays)
    out.arrays = products(work, out.arrays, complement(work, each, node), node,
                          [&](const array_set& x, const array_set& y) { return intersect(work, x, y); });
  out.objects = {object_set{}};
  for (const object_set& each : of.objects)
    out.objects = products(work, out.objects, complement(work, each), node,
                           [](const object_set& x, const object_set& y) { return intersect(x, y); });
  return out;
}

}  // namespace troupe::json_schema
