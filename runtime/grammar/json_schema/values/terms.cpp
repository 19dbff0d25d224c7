#include "runtime/grammar/json_schema/values/terms.hpp"

#include <algorithm>

namespace troupe::json_schema {

term_table::term_table() {
  add({term::kind::anything, nullptr, {}});
  add({term::kind::never, nullptr, {}});
}

term_id term_table::add(term made) {
  terms_.push_back(std::move(made));
  return static_cast<term_id>(terms_.size() - 1);
}

term_id term_table::schema(const json& node) {
  if (node.is_boolean()) return node.get<bool>() ? term_id::anything : term_id::never;
  if (node.is_object() && node.empty()) return term_id::anything;
  const auto [place, is_new] = schemas_.try_emplace(&node, term_id::never);
  if (is_new) place->second = add({term::kind::schema, &node, {}});
  return place->second;
}

term_id term_table::value(const json& node) {
  const auto [place, is_new] = values_.try_emplace(&node, term_id::never);
  if (is_new) place->second = add({term::kind::value, &node, {}});
  return place->second;
}

term_id term_table::all_of(term_id a, term_id b) {
  const std::array<term_id, 2> both{a, b};
  return all_of(both);
}

term_id term_table::all_of(std::span<const term_id> operands) {
  std::vector<term_id> flat;
  for (const term_id operand : operands) {
    if (operand == term_id::never) return term_id::never;
    if (operand == term_id::anything) continue;
    const term& known = (*this)[operand];
    if (known.what == term::kind::all_of)
      flat.insert(flat.end(), known.operands.begin(), known.operands.end());
    else
      flat.push_back(operand);
  }
  looked_at_ += flat.size();
  std::sort(flat.begin(), flat.end());
  flat.erase(std::unique(flat.begin(), flat.end()), flat.end());
  if (flat.empty()) return term_id::anything;
  if (flat.size() == 1) return flat.front();
  for (const term_id operand : flat) {
    const term& known = (*this)[operand];
    if (known.what == term::kind::negation &&
        std::binary_search(flat.begin(), flat.end(), known.operands.front()))
      return term_id::never;
  }
  const auto [place, is_new] = conjunctions_.try_emplace(flat, term_id::never);
  if (is_new) place->second = add({term::kind::all_of, nullptr, flat});
  return place->second;
}

term_id term_table::negation(term_id operand) {
  if (operand == term_id::anything) return term_id::never;
  if (operand == term_id::never) return term_id::anything;
  if ((*this)[operand].what == term::kind::negation) return (*this)[operand].operands.front();
  const auto [place, is_new] = negations_.try_emplace(static_cast<std::uint32_t>(operand), term_id::never);
  if (is_new) place->second = add({term::kind::negation, nullptr, {operand}});
  return place->second;
}

}  // namespace troupe::json_schema
