// Whether an expression matches a text, told without its remainders: a search that finds nothing would have
// to come to each of them at each place.
#include <utility>
#include <vector>

#include "runtime/grammar/regex/regex_store.hpp"

namespace troupe::grammar {

bool regex_store::is_nothing_loosened(regex_id r, step_budget& budget) {
  const std::uint64_t steps_before = steps_;
  const regex_id loose = loosened(r, false);
  budget.spend(std::exchange(steps_, steps_before) - steps_before);
  return !budget.is_spent() && !failure_ && is_nothing(loose, budget) == true;
}

regex_id regex_store::loosened(regex_id r, bool is_denied) {
  const node n = node_of(r);
  if (!n.has_multiple) return r;
  const std::uint64_t key = std::uint64_t{static_cast<std::uint32_t>(r)} * 2 + (is_denied ? 1 : 0);
  const auto known = loosened_.find(key);
  if (known != loosened_.end()) return known->second;
  count(1);
  const regex_id made = loosened_parts(n, is_denied);
  if (!failure_) loosened_.emplace(key, made);
  return made;
}

regex_id regex_store::loosened_parts(const node& n, bool is_denied) {
  switch (n.kind) {
    case regex_kind::multiple:
      return is_denied ? nothing() : star(bytes(byte_set::range('0', '9') | byte_set::of('.')));
    case regex_kind::complement:
      return complement(loosened(regex_id{n.a}, !is_denied));
    case regex_kind::repeat:
      return repeat(loosened(regex_id{n.a}, is_denied), n.b, n.c);
    case regex_kind::concat: {
      std::vector<regex_id> heads{loosened(regex_id{n.a}, is_denied)};
      regex_id rest{n.b};
      for (; kind(rest) == regex_kind::concat; rest = regex_id{node_of(rest).b})
        heads.push_back(loosened(regex_id{node_of(rest).a}, is_denied));
      rest = loosened(rest, is_denied);
      while (!heads.empty()) {
        rest = make_concat(heads.back(), rest);
        heads.pop_back();
      }
      return rest;
    }
    default: {
      std::vector<regex_id> parts(links_of(n).begin(), links_of(n).end());
      for (regex_id& part : parts) part = loosened(part, is_denied);
      return n.kind == regex_kind::alternation ? make_alternation(parts) : make_intersection(parts);
    }
  }
}

}  // namespace troupe::grammar
