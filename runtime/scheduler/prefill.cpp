// How much of its prompt each request has computed in a step.
#include <algorithm>
#include <cstdint>
#include <iterator>
#include <span>

#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

void scheduler::state::plan_chunks(std::span<sequence* const> some, std::int32_t& budget) {
  for (sequence* who : some)
    if (budget > 0) plan_chunk(*who, rows_of(*who, budget), budget);
}

void scheduler::state::plan_chunk(sequence& who, std::int32_t num_rows, std::int32_t& budget) {
  planned.push({.who = &who, .num_rows = num_rows});
  budget -= num_rows;
  wanted_rows += rows_of(who, limits.max_num_batched_tokens) - num_rows;
  if (num_rows == who.num_missing()) ++num_ending;
}

void scheduler::state::plan_long_prompts(std::int32_t kept, std::int32_t& budget) {
  std::int32_t left =
      std::min(static_cast<std::int32_t>(long_prompts.size()), limits.max_num_partial_prefills);
  for (sequence* who : long_prompts) {
    if (budget == 0) break;
    const bool has_part = shares_steps() && left > 0;
    const std::int32_t part = has_part ? std::max((kept + left - 1) / left, 1) : kept;
    if (part == 0) break;
    const std::int32_t num_rows = rows_of(*who, std::min(part, budget));
    plan_chunk(*who, num_rows, budget);
    kept = std::max(kept - num_rows, 0);
    --left;
  }
}

// Those that give way last come first. An insertion sort: there are no more than may run, it takes no memory,
// and leaves in their order whom no policy tells apart.
void scheduler::state::rank_long_prompts() {
  if (long_prompts.size() <= static_cast<std::size_t>(limits.max_num_partial_prefills)) return;
  const auto goes_before = [this](const sequence* a, const sequence* b) {
    return waiting->yields_before(*b, *a);
  };
  for (auto each = long_prompts.begin(); each != long_prompts.end(); ++each)
    std::rotate(std::upper_bound(long_prompts.begin(), each, *each, goes_before), each, std::next(each));
}

bool scheduler::state::is_long(std::int32_t num_missing) const {
  constexpr std::int32_t few_steps = 4;
  return !shares_steps() || num_missing > few_steps * limits.max_num_batched_tokens;
}

// Where there is a single row, whoever is older has it.
std::int32_t scheduler::state::share_of_long_prompts(std::int32_t budget) const {
  if (long_prompts.empty()) return 0;
  if (!shares_steps()) return budget;
  const bool brief_is_older = !brief_prompts.empty() &&
                              brief_prompts.front()->details->ticket < long_prompts.front()->details->ticket;
  if (budget <= 1) return brief_is_older ? 0 : budget;
  return std::max(static_cast<std::int32_t>(limits.long_prefill_share * budget), 1);
}

bool scheduler::state::is_waited_for() const {
  if (!shares_steps() || long_prompts.empty() || waiting->size() == 0) return false;
  if (running.size() >= static_cast<std::size_t>(most_running())) return false;
  return waiting->shares_with(*long_prompts.front(), *waiting->next(1).front());
}

std::int32_t scheduler::state::rows_of(const sequence& who, std::int32_t budget) const {
  const std::int32_t most = limits.long_prefill_token_threshold;
  const std::int32_t rows = std::min(who.num_missing(), budget);
  return most > 0 && limits.enable_chunked_prefill ? std::min(rows, most) : rows;
}

// What the KV cache said last of its prefix: more may be there, or less.
std::int32_t scheduler::state::missing_of_waiting(const sequence& who) const {
  return who.num_missing() - std::min(who.details->cached_prefix, who.num_missing() - 1);
}

// The rows that long prompts leave are for brief ones: one more of these may be cut, where it takes all that
// is left.
std::int32_t scheduler::state::rows_of_waiting(const sequence& who, std::int32_t budget) const {
  const std::int32_t num_rows = rows_of(who, budget);
  if (num_rows == who.num_missing()) return num_rows;
  if (!limits.enable_chunked_prefill) return 0;
  if (!is_long(missing_of_waiting(who)))
    return num_partial_brief < limits.max_num_partial_prefills || (num_rows == budget && !passes_brief)
               ? num_rows
               : 0;
  const std::int32_t before = num_long_before(who);
  if (before >= limits.max_num_partial_prefills) return 0;
  return before < num_partial_long ? num_rows : rows_of(who, std::max(budget - wanted_rows, 0));
}

// None of them ends with the step where steps are shared: they fill more than that.
std::int32_t scheduler::state::num_long_before(const sequence& who) const {
  if (!shares_steps()) return num_partial_long;
  const auto behind = std::ranges::count_if(
      long_prompts, [&](const sequence* each) { return waiting->preempts(who, *each); });
  return num_partial_long - static_cast<std::int32_t>(behind);
}

}  // namespace troupe
