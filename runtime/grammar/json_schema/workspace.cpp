#include "runtime/grammar/json_schema/workspace.hpp"

#include <fmt/format.h>

#include "runtime/json/json_reader.hpp"

namespace troupe::json_schema {

namespace {

constexpr std::size_t operands_in_a_step = 2;    // of conjunctions of terms, which keep a copy of them
constexpr std::size_t read_bytes_in_a_step = 8;  // read along derivatives that are known

}  // namespace

void workspace::refuse(const json& node, std::string_view word, std::string_view why, error_code code,
                       std::optional<std::string_view> key) {
  if (failed()) return;
  std::string pointer = document.pointer_of(node);
  if (!word.empty()) pointer.append("/").append(word);
  if (key) pointer.append("/").append(escape_pointer(*key));
  failure_ =
      error{code, fmt::format("JSON Schema, at \"{}\": {} {}", pointer, word.empty() ? "this" : word, why),
            std::move(pointer)};
}

// What refuse() tells has its place already.
error workspace::located_failure() const {
  error told = *failure();
  const bool is_limit = told.code == error_code::too_large && !told.param.starts_with('/');
  if (is_limit && failed_at_ != nullptr)
    told.message = fmt::format("JSON Schema, at \"{}\": {}", document.pointer_of(*failed_at_), told.message);
  return told;
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

regex_id workspace::as_written(regex_id of) {
  if (!options.short_numbers) return of;
  grammar::step_budget search(limits.max_search_steps);
  const regex_id written = numbers.shorten(regex, of, search);
  spend(limits.max_search_steps - search.left());
  return written;
}

bool workspace::matches(regex_id r, std::string_view candidate) {
  if (!spend(1 + candidate.size() / read_bytes_in_a_step)) return false;
  const auto answer = regex.matches(r, candidate, budget);
  if (!answer) spend(limits.max_compile_steps);
  return answer.value_or(false);
}

}  // namespace troupe::json_schema
