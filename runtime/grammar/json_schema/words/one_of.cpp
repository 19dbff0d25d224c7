// oneOf, exactly: for each branch what it has and no other branch has. Only where two branches meet does the
// one take the complement of the other; constants that differ never do.
#include <algorithm>
#include <string>
#include <unordered_map>

#include "runtime/grammar/json_schema/values/set_algebra.hpp"
#include "runtime/grammar/json_schema/values/set_table.hpp"
#include "runtime/grammar/json_schema/words/listed_values.hpp"

namespace troupe::json_schema {

// Whether one of them requires a member that has other values in the one than in the other, both of them
// listed, as the branches of a tagged union do. Makes no term, so that many branches may be compared, each
// with each.
bool set_table::differ_by_a_member(const object_set& a, const object_set& b) {
  constexpr std::size_t most_compared = 16;
  const auto differs = [&](const std::string& name) {
    auto x = listed_values(work_, member_term(a, name));
    const auto y = listed_values(work_, member_term(b, name));
    if (!x || !y || x->size() * y->size() > most_compared) return false;
    keep_common(work_, *x, *y);
    return x->empty();
  };
  return std::ranges::any_of(a.required, differs) || std::ranges::any_of(b.required, differs);
}

// What of `b` has a chance to be in `a` too, by whole types and alternatives.
value_set set_table::shared_part(const value_set& a, const value_set& b) {
  if (!work_.spend(weight(b))) return none_;
  value_set out = b;
  // Every number has a spelling without exponent: no such text in common, no number in common.
  if (work_.is_surely_nothing(work_.regex.intersection({a.numbers, b.number_reach}))) {
    out.numbers = out.number_reach = out.scientific = work_.regex.nothing();
    out.outside = work_.text.scientific;
  }
  for (regex_id* bodies : {&out.strings, &out.reach})
    if (work_.is_surely_nothing(work_.regex.intersection({a.reach, *bodies})))
      *bodies = work_.regex.nothing();
  std::erase_if(out.arrays, [&](const array_set& each) {
    return std::all_of(a.arrays.begin(), a.arrays.end(), [&](const array_set& other) {
      return !work_.spend() || is_surely_empty(intersect(work_, each, other));
    });
  });
  std::erase_if(out.objects, [&](const object_set& each) {
    return std::all_of(a.objects.begin(), a.objects.end(), [&](const object_set& other) {
      return !work_.spend() || differ_by_a_member(each, other) || is_surely_empty(intersect(each, other));
    });
  });
  return out;
}

std::vector<bool> set_table::have_own_values(const std::vector<term_id>& branches) {
  std::vector<bool> own(branches.size());
  std::unordered_map<std::string, std::size_t> first_with;
  for (std::size_t i = 0; i < branches.size() && work_.spend(); ++i) {
    const auto values = listed_values(work_, branches[i]);
    if (!values) continue;
    own[i] = true;
    for (const json* value : *values) {
      const auto [place, is_new] = first_with.try_emplace(key_of(work_, *value), i);
      if (is_new || place->second == i) continue;
      own[i] = own[place->second] = false;
    }
  }
  return own;
}

value_set set_table::exactly_one(const json& node, const value_set& within,
                                 const std::vector<term_id>& branches) {
  const std::vector<bool> own = have_own_values(branches);
  std::vector<std::size_t> all, shared_ones;  // that a branch may meet
  for (std::size_t i = 0; i < branches.size(); ++i) {
    all.push_back(i);
    if (!own[i]) shared_ones.push_back(i);
  }
  const json& list = node.at("oneOf");
  std::vector<value_set> parts;
  for (const std::size_t i : all) {
    if (!work_.spend()) return none_;
    value_set alone = intersect(work_, within, set_of(branches[i]), list[i]);
    for (const std::size_t j : own[i] ? shared_ones : all) {
      if (i == j) continue;
      const value_set shared = shared_part(alone, set_of(branches[j]));
      if (has_nothing(work_, shared)) continue;
      alone = intersect(work_, alone, complement(work_, shared, list[j]), list[j]);
      std::vector<array_set> arrays;
      for (array_set& each : alone.arrays)
        if (auto simple = without_idle_counts(std::move(each)); simple && !is_surely_empty(*simple))
          arrays.push_back(std::move(*simple));
      alone.arrays = std::move(arrays);
      std::erase_if(alone.objects, [&](const object_set& each) { return is_surely_empty(each); });
      if (!work_.spend()) return none_;
    }
    parts.push_back(std::move(alone));
  }
  std::vector<const value_set*> sets;
  for (const value_set& part : parts) sets.push_back(&part);
  return unite(work_, sets);
}

}  // namespace troupe::json_schema
