// Numbers no longer than their readers can hold: a model that may write a digit more sometimes does so until
// its answer is cut off, and an integer of twenty digits fits no integer of most programs.
#pragma once
#include <map>
#include <string>
#include <vector>

#include "runtime/grammar/json_schema/numbers/decimal.hpp"
#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/regex/regex_store.hpp"

namespace troupe::json_schema {

class short_numbers {
 public:
  // A schema names these values (of one enum or const): those that are long are written as they are. Before
  // the numbers that they belong to are shortened.
  void name(grammar::regex_store& store, const std::vector<decimal>& values);

  // Those of `numbers` with at most 18 digits, and 20 more behind the point, so that whatever Python writes
  // for a double without an exponent is among them, and with an exponent of 3 digits; whole ones that fit 64
  // bits with a sign, or without one where there are such and none beyond; and those that are named. All of
  // them where none is short, as far as a search of so many steps finds out, and where they are held to
  // multiples, which some masks follow with pains as it is, or very many enums name long ones.
  grammar::regex_id shorten(grammar::regex_store& store, grammar::regex_id numbers,
                            grammar::step_budget& search);

 private:
  std::vector<grammar::regex_id> named_;  // of each enum that has any
  std::map<grammar::regex_id, grammar::regex_id> known_;
};

}  // namespace troupe::json_schema
