#include "runtime/grammar/json_schema/writing/plan.hpp"

#include <algorithm>
#include <unordered_set>
#include <utility>

#include "runtime/grammar/json_schema/words/words.hpp"

namespace troupe::json_schema {

namespace {

constexpr std::size_t members_in_a_step = 4;  // that are looked at

}  // namespace

schema_plan::schema_plan(workspace& work, set_table& sets, term_id root) : work_(work), sets_(sets) {
  need(root);
  for (std::size_t next = 0; next < order_.size() && work_.spend(); ++next) plan_term(order_[next]);
  if (!work_.failed()) find_values();
}

std::size_t schema_plan::size_of(const term_plan& of) {
  std::size_t members = 1;
  for (const array_layout& each : of.arrays)
    members += 1 + each.prefix.size() + each.distinct.size() + each.choices.size();
  for (const object_layout& each : of.objects)
    members += 1 + each.named.size() + each.others.size() + each.witnesses.size();
  return members;
}

void schema_plan::need(term_id id) {
  const auto i = static_cast<std::size_t>(id);
  if (plans_.size() <= i) plans_.resize(work_.terms.size());
  if (std::exchange(plans_[i].is_planned, true)) return;
  order_.push_back(id);
}

void schema_plan::need(const array_layout& of) {
  for (const auto* list : {&of.prefix, &of.distinct})
    for (const term_id id : *list) need(id);
  for (const auto& choices : of.choices)
    for (const term_id id : choices) need(id);
  need(of.items);
}

void schema_plan::need(const object_layout& of) {
  for (const named_member& each : of.named) need(each.values);
  for (const other_members& each : of.others) need(each.values);
  for (const auto& choices : of.witnesses)
    for (const other_members& each : choices) need(each.values);
}

void schema_plan::plan_term(term_id id) {
  const workspace::place here(work_, sets_.place_of(id));
  const value_set& set = sets_.set_of(id);
  term_plan made{&set, {}, {}, true, false};
  for (const array_set& each : set.arrays)
    if (const auto simple = sets_.without_idle_counts(each)) made.arrays.push_back(lay_out(work_, *simple));
  for (const object_set& each : set.objects)
    for (object_layout& layout : lay_out(work_, each)) made.objects.push_back(std::move(layout));
  made.has_values = has_scalars(set);
  if (!followable_.contain(written_numbers(work_, set)))
    work_.refuse(sets_.place_of(id), "",
                 "has a multipleOf that takes more than max_mask_steps to follow beside its other words");
  for (const array_layout& each : made.arrays) need(each);
  for (const object_layout& each : made.objects) need(each);
  plans_[static_cast<std::size_t>(id)] = std::move(made);
}

bool schema_plan::has_scalars(const value_set& of) {
  // Every number has a spelling without exponent.
  return of.null || of.yes || of.no || !work_.is_surely_nothing(written_numbers(work_, of)) ||
         !work_.is_surely_nothing(of.strings);
}

bool schema_plan::has_values(const array_layout& of) const {
  if (of.min > of.max) return false;
  if (of.is_distinct)
    return std::count_if(of.distinct.begin(), of.distinct.end(),
                         [&](term_id id) { return has_values(id); }) >= of.min;
  for (std::size_t i = 0; i < of.prefix.size() && i < of.min; ++i)
    if (!has_values(of.prefix[i])) return false;
  for (std::size_t k = 0; k < of.counts.size(); ++k)
    if (of.counts[k].min > 0 && !can_count(of, k)) return false;
  return of.min <= of.prefix.size() || has_values(of.items);
}

bool schema_plan::can_count(const array_layout& of, std::size_t k) const {
  for (const auto& choices : of.choices)
    for (std::size_t mask = 0; mask < choices.size(); ++mask)
      if ((mask >> k & 1U) != 0 && has_values(choices[mask])) return true;
  return false;
}

bool schema_plan::has_values(const object_layout& of) const {
  std::size_t needed = of.witnesses.size();
  std::size_t possible = of.witnesses.size();
  for (const named_member& each : of.named) {
    const bool has = has_values(each.values);
    if (each.required && !has) return false;
    needed += each.required ? 1 : 0;
    possible += has ? 1 : 0;
  }
  const auto can_be = [&](const other_members& each) {
    return each.names != work_.regex.nothing() && has_values(each.values);
  };
  for (const auto& choices : of.witnesses)
    if (std::none_of(choices.begin(), choices.end(), can_be)) return false;
  const bool unlimited = std::any_of(of.others.begin(), of.others.end(), can_be);
  return of.min <= of.max && needed <= of.max && (unlimited || possible >= of.min);
}

std::optional<term_id> schema_plan::missing_part(const term_plan& of) const {
  if (of.arrays.size() + of.objects.size() != 1) return std::nullopt;
  const auto is_missing = [&](const named_member& each) { return each.required && !has_values(each.values); };
  for (const object_layout& object : of.objects)
    if (const auto found = std::ranges::find_if(object.named, is_missing); found != object.named.end())
      return found->values;
  for (const array_layout& array : of.arrays) {
    if (array.is_distinct) break;
    for (std::size_t i = 0; i < array.prefix.size() && i < array.min; ++i)
      if (!has_values(array.prefix[i])) return array.prefix[i];
    if (array.min > array.prefix.size() && !has_values(array.items)) return array.items;
  }
  return std::nullopt;
}

term_id schema_plan::part_without_values(term_id id) const {
  std::unordered_set<term_id> seen;
  while (seen.insert(id).second) {
    const auto part = missing_part((*this)[id]);
    if (!part || *part == term_id::never) break;
    id = *part;
  }
  return id;
}

// The least fixed point: values grow from scalars and empty arrays and objects upwards.
void schema_plan::find_values() {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto id = order_.rbegin(); id != order_.rend(); ++id) {
      term_plan& plan = plans_[static_cast<std::size_t>(*id)];
      if (plan.has_values) continue;
      if (!work_.spend(1 + size_of(plan) / members_in_a_step)) return;
      const auto has = [&](const auto& layout) { return has_values(layout); };
      plan.has_values = std::any_of(plan.arrays.begin(), plan.arrays.end(), has) ||
                        std::any_of(plan.objects.begin(), plan.objects.end(), has);
      changed |= plan.has_values;
    }
  }
}

}  // namespace troupe::json_schema
