// Which values a place of the instance may have, named by number before it is worked out: a part of the
// schema, a given value, all of several, none of one. Equal terms have equal numbers, which is what ends
// recursion.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/json/json.hpp"

namespace troupe::json_schema {

enum class term_id : std::uint32_t { anything = 0, never = 1 };

struct term {
  enum class kind : std::uint8_t { anything, never, schema, value, all_of, negation };
  kind what = kind::anything;
  const json* node = nullptr;     // schema: the part; value: the value
  std::vector<term_id> operands;  // all_of: two or more, ascending; negation: one
};

class term_table {
 public:
  term_table();

  // A part of a schema document that outlives the table. true, false and {} are anything and never.
  term_id schema(const json& node);
  term_id value(const json& node);
  term_id all_of(std::span<const term_id> operands);
  term_id all_of(term_id a, term_id b);
  term_id negation(term_id operand);

  const term& operator[](term_id id) const { return terms_[static_cast<std::size_t>(id)]; }
  std::size_t size() const { return terms_.size(); }
  // Operands of all_of that were looked at since this was last asked.
  std::size_t take_looked_at() { return std::exchange(looked_at_, 0); }

 private:
  term_id add(term made);

  std::vector<term> terms_;
  std::unordered_map<const json*, term_id> schemas_;
  std::unordered_map<const json*, term_id> values_;
  std::map<std::vector<term_id>, term_id> conjunctions_;
  std::unordered_map<std::uint32_t, term_id> negations_;
  std::size_t looked_at_ = 0;
};

}  // namespace troupe::json_schema
