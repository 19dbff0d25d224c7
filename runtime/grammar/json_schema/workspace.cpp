#include "runtime/grammar/json_schema/workspace.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/openai/json_reader.hpp"

namespace troupe::json_schema {

namespace {

constexpr std::size_t operands_in_a_step = 2;    // of conjunctions of terms, which keep a copy of them
constexpr std::size_t read_bytes_in_a_step = 8;  // read along derivatives that are known
constexpr int first_digits = 2;                  // all of them are tried
constexpr std::string_view long_numbers[] = {"10000000000000000000", "-10000000000000000000",
                                             "98765432109876543210"};

// Whether a text goes on behind this byte, and if so with what. Nothing: the budget is not enough to tell.
std::optional<regex_id> left_after(regex_store& regex, regex_id numbers, char c,
                                   grammar::step_budget& budget) {
  const regex_id left = regex.derivative(numbers, static_cast<unsigned char>(c), budget);
  const auto is_nothing = regex.is_nothing(left, budget);
  if (!is_nothing) return std::nullopt;
  if (*is_nothing) return regex.nothing();
  if (regex.is_nullable(left) && !regex.is_nothing(regex.non_empty(left), budget)) return std::nullopt;
  return left;
}

bool follow(regex_store& regex, regex_id numbers, int digits, grammar::step_budget& budget) {
  for (const char c : std::string_view(digits == first_digits ? "-0123456789" : "0123456789.")) {
    const auto left = left_after(regex, numbers, c, budget);
    if (!left) return false;
    const int more = c == '-' ? digits : digits - 1;
    if (*left != regex.nothing() && more > 0 && !follow(regex, *left, more, budget)) return false;
  }
  return true;
}

bool follow(regex_store& regex, regex_id numbers, std::string_view text, grammar::step_budget& budget) {
  std::optional left(numbers);
  for (std::size_t i = 0; i < text.size() && left && *left != regex.nothing(); ++i)
    left = left_after(regex, *left, text[i], budget);
  return left.has_value();
}

}  // namespace

void workspace::refuse(const json& node, std::string_view word, std::string_view why, error_code code,
                       std::optional<std::string_view> key) {
  if (failed()) return;
  std::string pointer = document.pointer_of(node);
  if (!word.empty()) pointer.append("/").append(word);
  if (key) pointer.append("/").append(openai::escape_pointer(*key));
  failure_ =
      error{code, fmt::format("JSON Schema, at \"{}\": {} {}", pointer, word.empty() ? "this" : word, why),
            std::move(pointer)};
}

bool workspace::spend(std::uint64_t steps) {
  if (budget.spend(steps + terms.take_looked_at() / operands_in_a_step)) return !failed();
  fail_with(grammar::exceeded("steps to compile", limits.max_compile_steps, "max_compile_steps"));
  return false;
}

bool workspace::is_surely_nothing(regex_id r) {
  if (r == regex.nothing()) return true;
  grammar::step_budget search(limits.max_search_steps);
  const auto answer = regex.is_nothing(r, search);
  spend(limits.max_search_steps - search.left());
  return answer.value_or(false);
}

bool workspace::can_follow(regex_id numbers) {
  if (!regex.has_multiple(numbers)) return true;
  const auto [known, is_new] = can_follow_numbers.try_emplace(static_cast<std::uint32_t>(numbers), true);
  if (!is_new) return known->second;
  grammar::step_budget search(limits.max_mask_steps);
  const bool can = regex.beside_building([&] {
    return follow(regex, numbers, first_digits, search) &&
           std::ranges::all_of(long_numbers,
                               [&](std::string_view text) { return follow(regex, numbers, text, search); });
  });
  spend(limits.max_mask_steps - search.left());
  return known->second = can;
}

bool workspace::matches(regex_id r, std::string_view candidate) {
  if (!spend(1 + candidate.size() / read_bytes_in_a_step)) return false;
  const auto answer = regex.matches(r, candidate, budget);
  if (!answer) spend(limits.max_compile_steps);
  return answer.value_or(false);
}

}  // namespace troupe::json_schema
