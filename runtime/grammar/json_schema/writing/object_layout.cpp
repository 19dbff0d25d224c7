#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/grammar/json_schema/writing/layout.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::size_t max_name_classes = 64;
constexpr std::size_t most_listed_names = 64;  // of a class
constexpr std::uint64_t steps_to_list = 50'000;
// A name is looked up, spelled, sorted and copied more than once.
constexpr std::size_t steps_per_name = 20, name_bytes_in_a_step = 16;

class object_planner {
 public:
  object_planner(workspace& work, const object_set& of) : work_(work), of_(of) {
    for (std::size_t r = 0; r < of.rules.size(); ++r) {
      const member_rule& rule = *of.rules[r];
      for (const auto& [name, values] : rule.properties) {
        if (!work_.spend(steps_per_name + name.size() / name_bytes_in_a_step)) return;
        named_[place_of(name)].by_rule.emplace_back(r, values);
      }
      if (!rule.patterns.empty() || rule.additional != term_id::anything) general_.push_back(r);
    }
    for (const std::string& name : of.required) {
      if (!work_.spend(steps_per_name + name.size() / name_bytes_in_a_step)) return;
      named_[place_of(name)].required = true;
    }
    const bool may_be_few = !of.names.empty() || has_patterns();
    for (const other_members& each : find_others()) {
      const auto few = may_be_few ? names_of(each) : std::nullopt;
      if (!few) others_.push_back(each);
      for (const std::string& name : few.value_or(std::vector<std::string>()))
        place_of(listed_.emplace_back(name));
    }
  }

  std::vector<object_layout> plan() {
    object_layout out;
    out.min = of_.min;
    out.max = of_.max;
    for (std::size_t i = 0; i < named_.size() && work_.spend(); ++i)
      out.named.push_back({std::string(named_[i].name), term_of_named(i), named_[i].required});
    if (work_.failed()) return {};
    out.others = unnamed();
    std::vector<object_layout> all{std::move(out)};
    for (const witness& each : of_.witnesses) all = with_witness(all, each);
    return all;
  }

 private:
  // A name that a rule or `required` speaks of.
  struct known_name {
    std::string_view name;
    std::string body;
    bool required = false;
    std::vector<std::pair<std::size_t, term_id>> by_rule = {};  // whose property it is, ascending
  };

  std::size_t place_of(const std::string& name) {
    const auto [place, is_new] = places_.try_emplace(name, named_.size());
    if (is_new) named_.push_back({name, spell(name)});
    return place->second;
  }

  term_id term_of_named(std::size_t i) {
    const known_name& named = named_[i];
    for (const auto& [names, reach] : of_.names)
      if (!work_.matches(names, named.body)) return term_id::never;
    if (!work_.spend(named.by_rule.size() + general_.size())) return term_id::never;
    std::vector<term_id> terms;
    for (const auto& [rule, values] : named.by_rule) terms.push_back(values);
    auto property = named.by_rule.begin();
    for (const std::size_t r : general_) {
      while (property != named.by_rule.end() && property->first < r) ++property;
      bool is_known = property != named.by_rule.end() && property->first == r;
      for (const auto& [names, values] : of_.rules[r]->patterns) {
        if (!work_.matches(names, named.body)) continue;
        is_known = true;
        terms.push_back(values);
      }
      if (!is_known) terms.push_back(of_.rules[r]->additional);
    }
    return work_.terms.all_of(terms);
  }

  // Names that the same patterns match.
  struct name_class {
    regex_id names{};
    std::unordered_set<std::uint32_t> matched;
  };

  std::vector<other_members> find_others() {
    std::vector<other_members> out;
    for (const name_class& each : classes())
      if (const term_id values = term_of_class(each); values != term_id::never)
        out.push_back({each.names, values});
    return out;
  }

  // Where an enum or a pattern leaves few names: these. Members that are known by name come once.
  std::optional<std::vector<std::string>> names_of(const other_members& members) {
    if (work_.failed()) return std::nullopt;
    grammar::step_budget search(steps_to_list);
    const auto bodies = work_.regex.list(members.names, most_listed_names, search);
    work_.spend(steps_to_list - search.left());
    if (!bodies) return std::nullopt;
    std::vector<std::string> out;
    for (const std::string& body : *bodies) out.push_back(json::parse('"' + body + '"').get<std::string>());
    return out;
  }

  std::vector<name_class> classes() {
    const bool is_restricted = !named_.empty() || !of_.names.empty() || has_patterns();
    std::vector<regex_id> all;
    for (const name_bodies& each : of_.names) all.push_back(each.sure);
    all.push_back(is_restricted ? work_.text.spelled_body : work_.text.any_body);
    std::vector<name_class> out{{work_.regex.intersection(all), {}}};
    std::unordered_set<std::uint32_t> done;
    for (const auto& rule : of_.rules)
      for (const auto& pattern : rule->patterns)
        if (done.insert(static_cast<std::uint32_t>(pattern.first)).second) out = split(out, pattern.first);
    return out;
  }

  // A schema that has to do with what is wrong: one whose denial asks for a member, one with patterns, or
  // any.
  const json& origin() const {
    for (const witness& each : of_.witnesses)
      if (each.origin != nullptr) return *each.origin;
    const json* any = nullptr;
    for (const auto& rule : of_.rules) {
      if (rule->origin == nullptr) continue;
      if (!rule->patterns.empty()) return *rule->origin;
      any = rule->origin;
    }
    return any != nullptr ? *any : work_.document.root();
  }

  bool has_patterns() const {
    return std::any_of(of_.rules.begin(), of_.rules.end(),
                       [](const auto& rule) { return !rule->patterns.empty(); });
  }

  std::vector<name_class> split(const std::vector<name_class>& classes, regex_id pattern) {
    std::vector<name_class> out;
    for (const name_class& each : classes) {
      name_class in{work_.regex.intersection({each.names, pattern}), each.matched};
      in.matched.insert(static_cast<std::uint32_t>(pattern));
      if (!work_.is_surely_nothing(in.names)) out.push_back(std::move(in));
      name_class rest{work_.regex.difference(each.names, pattern), each.matched};
      if (!work_.is_surely_nothing(rest.names)) out.push_back(std::move(rest));
    }
    if (out.size() > max_name_classes) {
      work_.refuse(origin(), "patternProperties", "has too many patterns that overlap");
      out.clear();
    }
    return out;
  }

  term_id term_of_class(const name_class& of) {
    std::vector<term_id> terms;
    for (const auto& rule : of_.rules) {
      bool is_known = false;
      for (const auto& [names, values] : rule->patterns) {
        if (!of.matched.contains(static_cast<std::uint32_t>(names))) continue;
        is_known = true;
        terms.push_back(values);
      }
      if (!is_known) terms.push_back(rule->additional);
    }
    return work_.terms.all_of(terms);
  }

  // Without the names of named_.
  std::vector<other_members> unnamed() {
    if (named_.empty()) return others_;
    std::vector<std::string> bodies;
    for (const known_name& each : named_) bodies.push_back(each.body);
    const regex_id named = work_.regex.one_of(std::move(bodies));
    std::vector<other_members> out;
    for (const other_members& each : others_)
      out.push_back({work_.regex.difference(each.names, named), each.values});
    return out;
  }

  std::vector<other_members> narrowed(const std::vector<other_members>& members, const witness& to) {
    std::vector<other_members> out;
    for (const other_members& each : members)
      out.push_back({work_.regex.intersection({each.names, to.names.sure}),
                     work_.terms.all_of(each.values, to.values)});
    return out;
  }

  static std::size_t weight_of(const object_layout& layout) {
    return 1 + steps_per_name * layout.named.size() + layout.others.size() + layout.witnesses.size();
  }

  bool is_too_many(const std::vector<object_layout>& layouts) {
    if (layouts.size() <= work_.limits.max_alternatives) return false;
    work_.refuse(origin(), "",
                 fmt::format("has more alternatives, multiplied out, than {} (max_alternatives)",
                             work_.limits.max_alternatives));
    return true;
  }

  // Each layout once for each named member that may be the witness, and once with one of the others as
  // witness.
  std::vector<object_layout> with_witness(const std::vector<object_layout>& layouts, const witness& of) {
    std::vector<object_layout> out;
    for (const object_layout& layout : layouts) {
      for (std::size_t i = 0; i < named_.size() && !is_too_many(out); ++i) {
        if (!work_.matches(of.names.sure, named_[i].body) || !work_.spend(weight_of(layout))) continue;
        object_layout by_name = layout;
        by_name.named[i].required = true;
        by_name.named[i].values = work_.terms.all_of(by_name.named[i].values, of.values);
        if (by_name.named[i].values != term_id::never) out.push_back(std::move(by_name));
      }
      if (!work_.spend((1 + layout.witnesses.size()) * weight_of(layout))) return {};
      object_layout by_other = layout;
      by_other.witnesses.push_back(narrowed(layout.others, of));
      out.push_back(std::move(by_other));
      for (std::size_t w = 0; w < layout.witnesses.size(); ++w) {
        object_layout shared = layout;
        shared.witnesses[w] = narrowed(layout.witnesses[w], of);
        out.push_back(std::move(shared));
      }
      if (is_too_many(out) || !work_.spend()) return {};
    }
    return out;
  }

  workspace& work_;
  const object_set& of_;
  std::vector<known_name> named_;
  std::deque<std::string> listed_;     // names that named_ and places_ view and no rule holds
  std::vector<other_members> others_;  // that are not known by name
  std::unordered_map<std::string_view, std::size_t> places_;  // in named_, by name
  std::vector<std::size_t> general_;                          // rules that speak of other names, too
};

}  // namespace

std::vector<object_layout> lay_out(workspace& work, const object_set& of) {
  return object_planner(work, of).plan();
}

}  // namespace troupe::json_schema
