// Every term that the grammar will need, laid out, and which of them have any value at all.
#pragma once
#include <cstddef>
#include <optional>
#include <span>
#include <vector>

#include "runtime/grammar/json_schema/values/set_table.hpp"
#include "runtime/grammar/json_schema/words/followable_numbers.hpp"
#include "runtime/grammar/json_schema/writing/layout.hpp"

namespace troupe::json_schema {

struct term_plan {
  const value_set* scalars = nullptr;  // its strings, numbers, null, true, false
  std::vector<array_layout> arrays;
  std::vector<object_layout> objects;
  bool is_planned = false;
  bool has_values = false;  // some finite JSON value is in it
};

class schema_plan {
 public:
  // Fails in the workspace.
  schema_plan(workspace& work, set_table& sets, term_id root);

  const term_plan& operator[](term_id id) const { return plans_[static_cast<std::size_t>(id)]; }
  bool has_values(term_id id) const { return (*this)[id].has_values; }
  bool has_values(const array_layout& of) const;
  bool has_values(const object_layout& of) const;
  // Of a term without values: the one that leaves it none, as far inside as one part alone does.
  term_id part_without_values(term_id id) const;
  const json& place_of(term_id id) const { return sets_.place_of(id); }
  // All terms that it is made of, those found first in front.
  std::span<const term_id> terms() const { return order_; }
  // Somebody has found out that the term has none.
  void leave_without_values(term_id id) { plans_[static_cast<std::size_t>(id)].has_values = false; }

 private:
  static std::size_t size_of(const term_plan& of);  // in members and items that are named in it
  void need(term_id id);
  void need(const array_layout& of);
  void need(const object_layout& of);
  void plan_term(term_id id);
  // A member or an item that it cannot do without, and that has no values.
  std::optional<term_id> missing_part(const term_plan& of) const;
  bool can_count(const array_layout& of, std::size_t k) const;
  bool has_scalars(const value_set& of);
  void find_values();

  workspace& work_;
  followable_numbers followable_{work_};
  set_table& sets_;
  std::vector<term_plan> plans_;  // by term
  std::vector<term_id> order_;    // as found
};

}  // namespace troupe::json_schema
