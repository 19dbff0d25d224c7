#include <fmt/format.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>
#include <utility>

#include "runtime/grammar/json_schema/layout.hpp"

namespace troupe::json_schema {
namespace {

constexpr std::size_t max_name_classes = 64;

std::vector<std::string> names_of(const object_set& of) {
  std::vector<std::string> out;
  std::unordered_set<std::string_view> seen;
  for (const auto& rule : of.rules)
    for (const auto& property : rule->properties)
      if (seen.insert(property.first).second) out.push_back(property.first);
  for (const std::string& name : of.required)
    if (seen.insert(name).second) out.push_back(name);
  return out;
}

class object_planner {
 public:
  object_planner(workspace& work, const object_set& of) : work_(work), of_(of), names_(names_of(of)) {
    for (const auto& rule : of.rules) {
      auto& known = properties_.emplace_back();
      for (const auto& [name, values] : rule->properties) known.emplace(name, values);
    }
    for (const std::string& name : names_) bodies_.push_back(spell(name));
  }

  std::vector<object_layout> plan() {
    object_layout out;
    out.min = of_.min;
    out.max = of_.max;
    const std::unordered_set<std::string_view> required(of_.required.begin(), of_.required.end());
    for (std::size_t i = 0; i < names_.size() && work_.spend(); ++i)
      out.named.push_back({names_[i], term_of_named(i), required.contains(names_[i])});
    out.others = others();
    std::vector<object_layout> all{std::move(out)};
    for (const witness& each : of_.witnesses) all = with_witness(all, each);
    return all;
  }

 private:
  term_id term_of_named(std::size_t i) {
    for (const regex_id names : of_.names)
      if (!work_.matches(names, bodies_[i])) return term_id::never;
    std::vector<term_id> terms;
    for (std::size_t r = 0; r < of_.rules.size(); ++r) {
      const auto property = properties_[r].find(names_[i]);
      bool is_known = property != properties_[r].end();
      if (is_known) terms.push_back(property->second);
      for (const auto& [names, values] : of_.rules[r]->patterns) {
        if (!work_.matches(names, bodies_[i])) continue;
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

  std::vector<name_class> classes() {
    const bool is_restricted = !names_.empty() || !of_.names.empty() || has_patterns();
    std::vector<regex_id> all(of_.names);
    all.push_back(is_restricted ? work_.text.spelled_body : work_.text.any_body);
    std::vector<name_class> out{{work_.regex.intersection(all), {}}};
    std::unordered_set<std::uint32_t> done;
    for (const auto& rule : of_.rules)
      for (const auto& pattern : rule->patterns)
        if (done.insert(static_cast<std::uint32_t>(pattern.first)).second) out = split(out, pattern.first);
    return out;
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
      work_.refuse(work_.document.root(), "patternProperties", "has too many patterns that overlap");
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

  std::vector<other_members> others() {
    std::vector<other_members> out;
    const regex_id named = work_.regex.one_of(bodies_);
    for (const name_class& each : classes()) {
      const term_id values = term_of_class(each);
      if (values == term_id::never) continue;
      out.push_back({names_.empty() ? each.names : work_.regex.difference(each.names, named), values});
    }
    return out;
  }

  std::vector<other_members> narrowed(const std::vector<other_members>& members, const witness& to) {
    std::vector<other_members> out;
    for (const other_members& each : members)
      out.push_back(
          {work_.regex.intersection({each.names, to.names}), work_.terms.all_of(each.values, to.values)});
    return out;
  }

  // Each layout once for each named member that may be the witness, and once with one of the others as
  // witness.
  std::vector<object_layout> with_witness(const std::vector<object_layout>& layouts, const witness& of) {
    std::vector<object_layout> out;
    for (const object_layout& layout : layouts) {
      for (std::size_t i = 0; i < names_.size(); ++i) {
        if (!work_.matches(of.names, bodies_[i])) continue;
        object_layout by_name = layout;
        by_name.named[i].required = true;
        by_name.named[i].values = work_.terms.all_of(by_name.named[i].values, of.values);
        if (by_name.named[i].values != term_id::never) out.push_back(std::move(by_name));
      }
      object_layout by_other = layout;
      by_other.witnesses.push_back(narrowed(layout.others, of));
      out.push_back(std::move(by_other));
      for (std::size_t w = 0; w < layout.witnesses.size(); ++w) {
        object_layout shared = layout;
        shared.witnesses[w] = narrowed(layout.witnesses[w], of);
        out.push_back(std::move(shared));
      }
      if (out.size() > work_.limits.max_alternatives)
        work_.refuse(
            work_.document.root(), "",
            fmt::format("has more alternatives, multiplied out, than {}", work_.limits.max_alternatives));
      if (!work_.spend()) return {};
    }
    return out;
  }

  workspace& work_;
  const object_set& of_;
  const std::vector<std::string> names_;
  std::vector<std::string> bodies_;                                        // of names_
  std::vector<std::unordered_map<std::string_view, term_id>> properties_;  // by rule
};

}  // namespace

std::vector<object_layout> lay_out(workspace& work, const object_set& of) {
  return object_planner(work, of).plan();
}

}  // namespace troupe::json_schema
