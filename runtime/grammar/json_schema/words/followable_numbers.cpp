#include "runtime/grammar/json_schema/words/followable_numbers.hpp"

#include <algorithm>

namespace troupe::json_schema {
namespace {

constexpr int first_digits = 2;  // all of them are tried
constexpr std::string_view long_numbers[] = {"10000000000000000000", "-10000000000000000000",
                                             "98765432109876543210"};

}  // namespace

bool followable_numbers::contain(regex_id numbers) {
  if (!work_.regex.has_multiple(numbers)) return true;
  const auto [known, is_new] = known_.try_emplace(numbers, true);
  if (!is_new) return known->second;
  const std::uint64_t given = std::min(2 * work_.limits.max_mask_steps, left_of_schema_);
  left_to_try_ = given;
  known->second = work_.regex.beside_building([&] {
    return can_follow_digits(numbers, first_digits) &&
           std::ranges::all_of(long_numbers,
                               [&](std::string_view text) { return can_follow(numbers, text); });
  });
  left_of_schema_ -= given - left_to_try_;
  return known->second;
}

auto followable_numbers::go(regex_id& numbers, char c) -> place {
  if (left_to_try_ == 0) return place::is_end;
  const std::uint64_t most = work_.limits.max_mask_steps;
  grammar::step_budget budget(std::min(most, left_to_try_));
  const std::uint64_t given = budget.left();
  regex_store& regex = work_.regex;
  numbers = regex.derivative(numbers, static_cast<unsigned char>(c), budget);
  const bool leads_on = regex.is_nothing(numbers, budget) == false;
  if (leads_on && regex.is_nullable(numbers)) (void)regex.is_nothing(regex.non_empty(numbers), budget);
  left_to_try_ -= given - budget.left();
  if (!work_.spend(given - budget.left())) return place::is_end;
  if (budget.is_spent()) return given == most ? place::takes_too_much : place::is_end;
  return leads_on ? place::leads_on : place::is_end;
}

bool followable_numbers::can_follow_digits(regex_id numbers, int digits) {
  for (const char c : std::string_view(digits == first_digits ? "-0123456789" : "0123456789.")) {
    regex_id behind = numbers;
    const place found = go(behind, c);
    if (found == place::takes_too_much) return false;
    const int more = c == '-' ? digits : digits - 1;
    if (found == place::leads_on && more > 0 && !can_follow_digits(behind, more)) return false;
  }
  return true;
}

bool followable_numbers::can_follow(regex_id numbers, std::string_view text) {
  place found = place::leads_on;
  for (std::size_t i = 0; i < text.size() && found == place::leads_on; ++i) found = go(numbers, text[i]);
  return found != place::takes_too_much;
}

}  // namespace troupe::json_schema
