// The set of values of each term, worked out when first asked for.
#pragma once
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/grammar/json_schema/values/value_set.hpp"
#include "runtime/grammar/json_schema/workspace.hpp"

namespace troupe::json_schema {

class set_table {
 public:
  explicit set_table(workspace& work) : work_(work), none_(empty_set(work)) {}

  // Stays valid. After a failure of the workspace it may be anything.
  const value_set& set_of(term_id id);

  // Whether there is surely no value in it, as far as a short search finds out.
  bool is_surely_empty(term_id id, std::size_t depth = 0);
  bool is_surely_empty(const array_set& of, std::size_t depth = 0);
  bool is_surely_empty(const object_set& of, std::size_t depth = 0);

  // The same set with counts of items that all items or none of them are in as bounds on the size. Nothing:
  // it is surely empty.
  std::optional<array_set> without_idle_counts(array_set of);

  // The part of the schema that the term, or its first operand, is.
  const json& place_of(term_id id) const;

  // What the rules together say of the member `name`.
  term_id member_term(const object_set& of, const std::string& name);
  bool rules_out(const member_rule& rule, const witness& one);

 private:
  static value_set empty_set(workspace& work);
  bool enter(term_id id);
  value_set work_out(term_id id);
  value_set copy_of(term_id id);

  // set_table.cpp: words that name other schemas.
  value_set of_schema(const json& node);
  // `by`: the part of the schema that narrows, told where that makes too many alternatives.
  void narrow(value_set& out, const value_set& to, const json& by);
  void check_names(const json& node);  // that it gives itself
  const json* target_of(const json& node, std::string_view word, const json& reference);
  void narrow_by_references(const json& node, value_set& out);
  void narrow_by_choices(const json& node, value_set& out);
  void narrow_by_condition(const json& node, value_set& out);
  void narrow_by_dependencies(const json& node, value_set& out);
  std::vector<term_id> branches(const json& node, const char* word);

  // type_words.cpp: words that speak of the instance itself.
  value_set of_types(const json& node);
  void add_type(const json& node, std::string_view type, value_set& out);
  object_set of_object(const json& node);
  value_set of_values(std::span<const json* const> values, const json& node);
  void narrow_by_values(const json& node, value_set& out);

  // one_of.cpp
  // By branch: whether it lists its values, and none of them is in the list of another branch.
  std::vector<bool> have_own_values(const std::vector<term_id>& branches);
  value_set exactly_one(const json& node, const value_set& within, const std::vector<term_id>& branches);
  bool differ_by_a_member(const object_set& a, const object_set& b);
  value_set shared_part(const value_set& a, const value_set& b);

  workspace& work_;
  const value_set none_;
  std::deque<std::optional<value_set>> sets_;  // by term
  std::deque<value_set> guesses_;              // worked out by a guess that is unsure: right only for now
  std::vector<bool> open_;                     // by term: being worked out
  std::vector<bool> empty_;                    // by term: surely empty
  std::size_t depth_ = 0;
  bool is_guess_ = false;   // what is being worked out serves a proof only
  bool is_unsure_ = false;  // and has come upon a term that is being worked out, or has no complement
};

}  // namespace troupe::json_schema
