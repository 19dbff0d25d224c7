#include "runtime/grammar/json_schema/values/set_table.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <string_view>
#include <utility>

#include "runtime/grammar/json_schema/document/word_lists.hpp"
#include "runtime/grammar/json_schema/values/set_algebra.hpp"
#include "runtime/grammar/json_schema/words/listed_values.hpp"
#include "runtime/grammar/json_schema/words/words.hpp"

namespace troupe::json_schema {

namespace {

// More alternatives are looked through for those that contradict themselves before they are multiplied
// again: of conditions that ask for different values of one member hardly two hold at once.
constexpr std::size_t many_objects = 8;

}  // namespace

value_set set_table::empty_set(workspace& work) { return no_values(work); }

const json& set_table::place_of(term_id id) const {
  const term& known = work_.terms[id];
  if (known.what == term::kind::schema) return *known.node;
  return known.operands.empty() ? work_.document.root() : place_of(known.operands.front());
}

bool set_table::enter(term_id id) {
  const auto i = static_cast<std::size_t>(id);
  if (sets_.size() <= i) {
    sets_.resize(work_.terms.size());
    open_.resize(work_.terms.size());
  }
  if (work_.terms.size() > work_.limits.max_schema_terms)
    work_.fail_with(
        grammar::exceeded("combinations of schemas", work_.limits.max_schema_terms, "max_schema_terms"));
  if (open_[i]) {
    if (is_guess_)
      is_unsure_ = true;
    else
      work_.refuse(place_of(id), "", "refers to itself without an array or object in between");
    return false;
  }
  if (depth_ >= work_.limits.max_schema_depth)
    work_.refuse(place_of(id), "",
                 fmt::format("goes through more than {} schemas to the first type (max_schema_depth)",
                             work_.limits.max_schema_depth));
  return work_.spend();
}

const value_set& set_table::set_of(term_id id) {
  const auto i = static_cast<std::size_t>(id);
  if (i < sets_.size() && sets_[i]) return *sets_[i];
  if (work_.failed() || !enter(id)) return none_;
  open_[i] = true;
  ++depth_;
  value_set made = work_out(id);
  --depth_;
  open_[i] = false;
  if (!is_unsure_) return sets_[i].emplace(std::move(made));
  return guesses_.emplace_back(std::move(made));
}

value_set set_table::work_out(term_id id) {
  const term known = work_.terms[id];
  const workspace::place here(work_, place_of(id));
  switch (known.what) {
    case term::kind::anything:
      return all_values(work_);
    case term::kind::never:
      return no_values(work_);
    case term::kind::schema:
      return of_schema(*known.node);
    case term::kind::value: {
      const std::array<const json*, 1> single{known.node};
      return of_values(single, *known.node);
    }
    case term::kind::negation: {
      const value_set& denied = set_of(known.operands.front());
      const auto has_no_complement = [](const array_set& each) { return each.unique != nullptr; };
      if (is_guess_ && std::any_of(denied.arrays.begin(), denied.arrays.end(), has_no_complement)) {
        is_unsure_ = true;  // what only a proof would need is not refused
        return all_values(work_);
      }
      return complement(work_, denied, place_of(id));
    }
    case term::kind::all_of:
      break;
  }
  value_set out = copy_of(known.operands.front());
  for (std::size_t i = 1; i < known.operands.size(); ++i)
    narrow(out, set_of(known.operands[i]), place_of(id));
  return out;
}

value_set set_table::copy_of(term_id id) {
  const value_set& known = set_of(id);
  return work_.spend(weight(known)) ? known : none_;
}

void set_table::narrow(value_set& out, const value_set& to, const json& by) {
  out = intersect(work_, out, to, by);
  if (out.objects.size() > many_objects)
    std::erase_if(out.objects, [&](const object_set& each) { return is_surely_empty(each); });
}

value_set set_table::of_schema(const json& node) {
  if (work_.document.version() <= draft::draft7 &&
      node.contains("$ref")) {  // which hides its neighbours there
    const json* target = target_of(node, "$ref", node.at("$ref"));
    return target == nullptr ? none_ : copy_of(work_.terms.schema(*target));
  }
  check_names(node);
  value_set out = of_types(node);
  narrow_by_values(node, out);
  narrow_by_references(node, out);
  narrow_by_choices(node, out);
  narrow_by_condition(node, out);
  narrow_by_dependencies(node, out);
  return out;
}

void set_table::check_names(const json& node) {
  for (const char* word : {"$id", "$anchor", "$dynamicAnchor"}) {
    const json* name = find_word(work_, node, word);
    if (name != nullptr && !name->is_string()) work_.malformed(node, word, "must be a string");
  }
}

const json* set_table::target_of(const json& node, std::string_view word, const json& reference) {
  if (!reference.is_string()) {
    work_.malformed(node, word, "must be a string");
    return nullptr;
  }
  const auto target = work_.document.resolve(node, reference.get<std::string>());
  if (!target) {
    work_.refuse(node, word, target.error().message, target.error().code);
    return nullptr;
  }
  if ((*target)->is_object() || (*target)->is_boolean()) return *target;
  work_.malformed(node, word, "must lead to a schema");
  return nullptr;
}

void set_table::narrow_by_references(const json& node, value_set& out) {
  for (const std::string_view word : reference_words) {
    const json* reference = find_word(work_, node, word);
    if (reference == nullptr) continue;
    const json* target = target_of(node, word, *reference);
    if (target == nullptr) continue;
    if (work_.document.depends_on_the_way(node, word, *target))
      work_.refuse(node, word, "leads to different places by the way that led to it");
    narrow(out, set_of(work_.terms.schema(*target)), *reference);
  }
}

std::vector<term_id> set_table::branches(const json& node, const char* word) {
  std::vector<term_id> out;
  const json* list = find_word(work_, node, word);
  if (list == nullptr) return out;
  if (!list->is_array() || list->empty())
    work_.malformed(node, word, "must be an array of schemas that is not empty");
  else
    for (const json& each : *list) out.push_back(to_term(work_, each));
  return out;
}

void set_table::narrow_by_choices(const json& node, value_set& out) {
  const json* const list = find_word(work_, node, "allOf");
  const auto all = branches(node, "allOf");
  for (std::size_t i = 0; i < all.size(); ++i) narrow(out, set_of(all[i]), (*list)[i]);
  if (const auto any = branches(node, "anyOf"); !any.empty()) {
    std::vector<const value_set*> sets;
    std::size_t alternatives = 0;
    for (const term_id each : any) {
      if (!work_.spend(1 + alternatives)) return;
      sets.push_back(&set_of(each));
      alternatives += sets.back()->arrays.size() + sets.back()->objects.size();
    }
    narrow(out, unite(work_, sets), node.at("anyOf"));
  }
  if (const auto one = branches(node, "oneOf"); !one.empty()) out = exactly_one(node, out, one);
  if (const auto denied = schema_word(work_, node, "not"))
    narrow(out, complement(work_, set_of(*denied), node.at("not")), node.at("not"));
}

void set_table::narrow_by_condition(const json& node, value_set& out) {
  const auto condition = schema_word(work_, node, "if");
  const auto then = schema_word(work_, node, "then");
  const auto otherwise = schema_word(work_, node, "else");
  if (!condition || (!then && !otherwise)) return;
  const value_set& met = set_of(*condition);
  value_set yes = out;
  narrow(yes, met, node.at("if"));
  if (then) narrow(yes, set_of(*then), node.at("then"));
  value_set no = out;
  narrow(no, complement(work_, met, node.at("if")), node.at("if"));
  if (otherwise) narrow(no, set_of(*otherwise), node.at("else"));
  out = unite(work_, yes, no);
}

void set_table::narrow_by_dependencies(const json& node, value_set& out) {
  if (out.objects.empty()) return;
  for (dependency& each : dependency_words(work_, node)) {
    member_rule no_such;
    no_such.properties.emplace_back(each.name, term_id::never);
    value_set without = all_values(work_);
    without.objects.front().rules.push_back(std::make_shared<const member_rule>(std::move(no_such)));
    value_set with = no_values(work_);
    object_set present;
    present.required = std::move(each.names);
    present.required.push_back(each.name);
    std::sort(present.required.begin(), present.required.end());
    present.required.erase(std::unique(present.required.begin(), present.required.end()),
                           present.required.end());
    with.objects.push_back(std::move(present));
    narrow(with, set_of(each.schema), *each.origin);
    narrow(out, unite(work_, without, with), *each.origin);
    if (work_.failed()) return;
  }
}

term_id set_table::member_term(const object_set& of, const std::string& name) {
  std::vector<term_id> terms;
  const std::string body = spell(name);
  for (const auto& rule : of.rules) {
    if (!work_.spend(1 + rule->properties.size() / 16)) break;
    const auto property = std::find_if(rule->properties.begin(), rule->properties.end(),
                                       [&](const auto& each) { return each.first == name; });
    bool is_known = property != rule->properties.end();
    if (is_known) terms.push_back(property->second);
    for (const auto& [names, values] : rule->patterns) {
      if (!work_.matches(names, body)) continue;
      is_known = true;
      terms.push_back(values);
    }
    if (!is_known) terms.push_back(rule->additional);
  }
  return work_.terms.all_of(terms);
}

std::optional<array_set> set_table::without_idle_counts(array_set of) {
  if (!of.prefix.empty()) return of;
  std::vector<item_count> kept;
  for (const item_count& count : of.counts) {
    if (count.from > 0) {
      kept.push_back(count);
    } else if (is_surely_empty(work_.terms.all_of(of.items, work_.terms.negation(count.items)))) {
      of.min = std::max(of.min, count.min);
      of.max = std::min(of.max, count.max);
    } else if (!is_surely_empty(work_.terms.all_of(of.items, count.items))) {
      kept.push_back(count);
    } else if (count.min > 0) {
      return std::nullopt;
    }
  }
  of.counts = std::move(kept);
  if (of.min > of.max) return std::nullopt;
  return of;
}

bool set_table::is_surely_empty(const array_set& of, std::size_t depth) {
  if (of.min > of.max) return true;
  for (std::size_t i = 0; i < of.prefix.size() && i < of.min; ++i)
    if (is_surely_empty(of.prefix[i], depth + 1)) return true;
  if (of.min > of.prefix.size() && is_surely_empty(of.items, depth + 1)) return true;
  return std::any_of(of.counts.begin(), of.counts.end(), [&](const item_count& count) {
    return count.min > count.max || (count.min > 0 && is_surely_empty(count.items, depth + 1));
  });
}

// Whether the rule has names of its own alone, and the witness none of them.
bool set_table::rules_out(const member_rule& rule, const witness& one) {
  if (rule.additional != term_id::never || !rule.patterns.empty()) return false;
  return std::ranges::none_of(rule.properties, [&](const auto& property) {
    return !work_.spend() ||
           (property.second != term_id::never && work_.matches(one.names.reach, spell(property.first)));
  });
}

bool set_table::is_surely_empty(const object_set& of, std::size_t depth) {
  if (of.min > of.max || of.required.size() > of.max) return true;
  for (const witness& one : of.witnesses)
    if (std::ranges::any_of(of.rules, [&](const auto& rule) { return rules_out(*rule, one); })) return true;
  return std::any_of(of.required.begin(), of.required.end(), [&](const std::string& name) {
    return is_surely_empty(member_term(of, name), depth + 1);
  });
}

bool set_table::is_surely_empty(term_id id, std::size_t depth) {
  constexpr std::size_t max_depth = 4;
  if (id == term_id::never) return true;
  const auto i = static_cast<std::size_t>(id);
  if (i < empty_.size() && empty_[i]) return true;
  if (lists_exclude_each_other(work_, id)) return true;
  if (id == term_id::anything || depth > max_depth || !work_.spend()) return false;
  const bool outermost = !std::exchange(is_guess_, true);
  const value_set& set = set_of(id);
  const auto empty = [&](const auto& each) { return is_surely_empty(each, depth); };
  // Every number has a spelling without exponent.
  const bool is_empty =
      !set.null && !set.yes && !set.no && std::all_of(set.arrays.begin(), set.arrays.end(), empty) &&
      std::all_of(set.objects.begin(), set.objects.end(), empty) && work_.is_surely_nothing(set.numbers) &&
      work_.is_surely_nothing(set.reach) && !is_unsure_;
  if (is_empty) {
    if (empty_.size() <= i) empty_.resize(work_.terms.size());
    empty_[i] = true;
  }
  if (outermost) {
    is_guess_ = is_unsure_ = false;
    guesses_.clear();
  }
  return is_empty;
}

}  // namespace troupe::json_schema
