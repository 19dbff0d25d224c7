// Numbers that are to be multiples beside other words: whether each place of their texts can be told within a
// mask's budget, tried when the schema is compiled rather than told to a client in the midst of its answer.
#pragma once
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>

#include "runtime/grammar/json_schema/workspace.hpp"

namespace troupe::json_schema {

class followable_numbers {
 public:
  explicit followable_numbers(workspace& work)
      : work_(work), left_of_schema_(work.limits.max_compile_steps / 4) {}

  // False where a place takes more than max_mask_steps. All first two digits are tried, and a few long
  // numbers, for twice as many steps in all, and a quarter of max_compile_steps for a whole schema: what
  // other places take is not seen. What is worked out stays known to those who follow.
  bool contain(regex_id numbers);

 private:
  enum class place { leads_on, is_end, takes_too_much };
  place go(regex_id& numbers, char c);  // on behind this byte, where it leads on
  bool can_follow_digits(regex_id numbers, int digits);
  bool can_follow(regex_id numbers, std::string_view text);

  workspace& work_;
  // Steps to try places with; none: whatever is left is taken for followable.
  std::uint64_t left_of_schema_;
  std::uint64_t left_to_try_ = 0;
  std::map<regex_id, bool> known_;
};

}  // namespace troupe::json_schema
