// Arrays and objects laid out for writing: which members there may be, and which values each may have.
#pragma once
#include <cstdint>
#include <string>
#include <vector>

#include "runtime/grammar/json_schema/values/value_set.hpp"
#include "runtime/grammar/json_schema/workspace.hpp"

namespace troupe::json_schema {

struct named_member {
  std::string name;
  term_id values = term_id::anything;
  bool required = false;
};

// Members whose names are given by an expression; no two of one layout have a name in common.
struct other_members {
  regex_id names{};  // bodies
  term_id values = term_id::anything;
};

struct object_layout {
  std::vector<named_member> named;
  std::vector<other_members> others;                  // any number of them
  std::vector<std::vector<other_members>> witnesses;  // one of each list at least
  std::uint32_t min = 0;
  std::uint32_t max = unbounded;
};

// The alternatives that an object set is, at least one of which any of its objects follows.
std::vector<object_layout> lay_out(workspace& work, const object_set& of);

struct array_layout {
  std::vector<term_id> prefix;
  term_id items = term_id::anything;
  std::uint32_t min = 0;
  std::uint32_t max = unbounded;
  // Different items: each of these at most once, in any order; nothing else.
  std::vector<term_id> distinct;
  bool is_distinct = false;
  // How many items are counted by each of `counts`. choices[place][mask]: the values of an item at that place
  // that is counted by exactly the counts in the mask, or by more where they have no upper end; the last
  // place stands for all further ones.
  std::vector<item_count> counts;
  std::vector<std::vector<term_id>> choices;
};

// Refuses, in the workspace, what has no finite grammar: uniqueItems over items without end, several
// `contains`.
array_layout lay_out(workspace& work, const array_set& of);

}  // namespace troupe::json_schema
