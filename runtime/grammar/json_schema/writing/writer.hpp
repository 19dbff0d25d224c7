// From planned terms to the rules of a grammar.
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include "runtime/grammar/grammar_builder.hpp"
#include "runtime/grammar/json_schema/writing/plan.hpp"

namespace troupe::json_schema {

class grammar_writer {
 public:
  grammar_writer(grammar::grammar_builder& builder, workspace& work, const schema_plan& plan);

  // The symbol of all JSON texts of the term's values.
  grammar::symbol_id write(term_id root);

 private:
  using symbol_id = grammar::symbol_id;

  symbol_id symbol_of(term_id id);
  symbol_id body_of(term_id id);
  regex_id scalars_of(const value_set& of);

  // array_rules.cpp
  symbol_id array_of(const array_layout& of);
  symbol_id items_of(const array_layout& of);
  symbol_id distinct_items(const array_layout& of);
  symbol_id counted_items(const array_layout& of);

  // object_rules.cpp
  symbol_id object_of(const object_layout& of);
  symbol_id member(regex_id body, term_id values);
  symbol_id any_of(const std::vector<other_members>& choices);
  symbol_id in_any_order(const object_layout& of);
  symbol_id in_fixed_order(const object_layout& of);

  grammar::grammar_builder& builder_;
  workspace& work_;
  const schema_plan& plan_;
  std::vector<std::optional<symbol_id>> symbols_;  // by term
  std::vector<term_id> open_;                      // named but not written
  regex_id colon_{};
  symbol_id comma_{};
};

}  // namespace troupe::json_schema
