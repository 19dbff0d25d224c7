// Sets of JSON values by type: the normal form of a schema.
//
// Strings and numbers are regular expressions over their texts, so they are closed under and, or and not.
// Arrays and objects are alternatives, each a conjunction of conditions on size and on members, closed the
// same way.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "runtime/grammar/json_schema/values/terms.hpp"
#include "runtime/grammar/regex/regex_store.hpp"

namespace troupe::json_schema {

using grammar::regex_id;
using grammar::unbounded;

// At least `min` and at most `max` of the items from place `from` on are in `items`.
struct item_count {
  term_id items = term_id::anything;
  std::uint32_t min = 1;
  std::uint32_t max = unbounded;
  const json* origin = nullptr;  // the schema that says so
  std::uint32_t from = 0;        // items before this place are not looked at
};

struct array_set {
  std::vector<term_id> prefix = {};
  term_id items = term_id::anything;  // after the prefix
  std::uint32_t min = 0;
  std::uint32_t max = unbounded;
  std::vector<item_count> counts = {};
  const json* unique = nullptr;  // the schema that says uniqueItems, if one does
};

// What `properties`, `patternProperties` and `additionalProperties` of one schema say together.
struct member_rule {
  std::vector<std::pair<std::string, term_id>> properties;  // each name once
  std::vector<std::pair<regex_id, term_id>> patterns;       // over bodies of names
  term_id additional = term_id::anything;                   // of names that neither of them has
  const json* origin = nullptr;                             // that schema; null where another follows from it
};

// Bodies of some names.
struct name_bodies {
  regex_id sure{};
  regex_id reach{};  // with those that may be of them
};

// At least one member whose name is one of `names` has a value in `values`.
struct witness {
  name_bodies names;
  term_id values = term_id::anything;
  const json* origin = nullptr;  // the schema that is denied, where it says more of its members
};

struct object_set {
  std::vector<std::shared_ptr<const member_rule>> rules;
  std::vector<std::string> required;  // each once, in the order first named
  std::vector<name_bodies> names;     // every name is in each of these, which are allowed
  std::vector<witness> witnesses;
  std::uint32_t min = 0;
  std::uint32_t max = unbounded;
};

struct value_set {
  bool null = false;
  bool yes = false;
  bool no = false;
  regex_id numbers{};  // without exponent: all spellings of a number or none (of those of an enum or a const,
                       // and of type integer, a few: 15, 15.0), of which ...
  bool only_exact =
      false;  // ... those alone are written that are exactly_read(): others may be of no number of it
  regex_id number_reach{};  // these, all their spellings, and what readers may take for one of the set:
                            // whoever denies it denies all of them
  regex_id scientific{};    // with one: some spellings of numbers of the set
  regex_id outside{};       // with one: some spellings of numbers that it has not
  regex_id strings{};       // bodies
  regex_id reach{};         // these, and what may be of the set besides: whoever denies it denies all of them
  std::vector<array_set> arrays;
  std::vector<object_set> objects;
};

// Steps that copying one is worth: one for each 16 bytes, texts of names included.
std::size_t weight(const array_set& of);
std::size_t weight(const object_set& of);
std::size_t weight(const value_set& of);

}  // namespace troupe::json_schema
