#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/prefetch.hpp"
#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

step_demand_ptr scheduler::state::plan() {
  if (is_planned || flights.full() || is_verifying()) return nullptr;
  make_place_for_first();
  planned.clear();
  joining.clear();
  const std::int32_t left = plan_waiting(plan_running());
  plan_drafts(rows_for_drafts(std::max(left - given_way, 0)));
  if (planned.empty() && joining.empty()) {
    forget_retired();
    return nullptr;
  }
  ++step;
  is_planned = true;
  room_came_back = false;
  some_left = false;
  return demand_planned();
}

// A prompt that is not to be cut would wait for ever.
std::int32_t scheduler::state::token_budget() const {
  const std::int32_t most = limits.max_num_batched_tokens;
  return limits.enable_chunked_prefill ? std::min(most, bounds.rows().value_or(most)) : most;
}

std::int32_t scheduler::state::rows_for_drafts(std::int32_t budget) const {
  if (!bounds.rows() || limits.enable_chunked_prefill) return budget;
  const auto others = static_cast<std::int32_t>(planned.size() + joining.size());
  return std::clamp(*bounds.rows() - others, 0, budget);
}

// Gives what is left of the token budget. Decodes come first, whatever their age, then those past their
// prompt with several tokens to compute (forced ones): however long the prompts beside it, a running request
// waits for no more than one step with one bounded chunk. Where there are not enough tokens for one of each
// they take turns, a token each. Prompts come last, and make room for those who wait.
std::int32_t scheduler::state::plan_running() {
  std::int32_t budget = token_budget();
  past_prompt.clear();
  prefilling.clear();
  const auto first =
      left_out == nullptr ? running.end() : std::find(running.begin(), running.end(), left_out);
  left_out = nullptr;
  const bool take_turns = first != running.end();
  if (take_turns) plan_decodes({first, running.end()}, take_turns, budget);
  plan_decodes({running.begin(), first}, take_turns, budget);
  const std::vector<sequence*>& next = past_prompt.empty() ? prefilling : past_prompt;
  if (budget == 0 && left_out == nullptr && !next.empty()) left_out = next.front();
  given_way = 0;
  plan_chunks(past_prompt, budget, budget);
  plan_chunks(prefilling, longest_chunk(budget), budget);
  return budget;
}

void scheduler::state::plan_chunks(std::span<sequence* const> some, std::int32_t most, std::int32_t& budget) {
  for (sequence* who : some) {
    const std::int32_t wanted = rows_of(*who, budget);
    if (wanted == 0) break;
    const std::int32_t num_rows = std::min(wanted, most);
    planned.push({.who = who, .num_rows = num_rows});
    budget -= num_rows;
    given_way += wanted - num_rows;
  }
}

std::int32_t scheduler::state::longest_chunk(std::int32_t budget) const {
  if (!shares_step()) return budget;
  const double share = limits.long_prefill_share * budget / static_cast<double>(prefilling.size());
  return std::max(static_cast<std::int32_t>(share), 1);
}

bool scheduler::state::shares_step() const {
  if (!limits.enable_chunked_prefill || prefilling.empty() || waiting->size() == 0) return false;
  if (running.size() >= static_cast<std::size_t>(most_running())) return false;
  return waiting->may_pass(*waiting->next(1).front(), *prefilling.front());
}

void scheduler::state::plan_decodes(std::span<sequence* const> some, bool take_turns, std::int32_t& budget) {
  for (std::size_t i = 0; i < some.size(); ++i) {
    if (i + far_prefetch_distance < some.size()) prefetch_line(some[i + far_prefetch_distance]);
    sequence* who = some[i];
    if (!awaiting_masks.empty() && who->awaits_mask) continue;
    const std::int32_t missing = who->num_missing();
    if (missing > 1 && !take_turns) {
      (who->num_computed < who->prompt_length ? prefilling : past_prompt).push_back(who);
    } else if (who->is_sampled_out()) {
      continue;
    } else if (budget > 0) {
      planned.push({.who = who, .num_rows = 1});
      --budget;
    } else if (left_out == nullptr) {
      left_out = who;
    }
  }
}

std::int32_t scheduler::state::rows_of(const sequence& who, std::int32_t budget) const {
  const std::int32_t most = limits.long_prefill_token_threshold;
  const std::int32_t rows = std::min(who.num_missing(), budget);
  return most > 0 && limits.enable_chunked_prefill ? std::min(rows, most) : rows;
}

// A prompt gets room for all of itself before its first chunk runs: half a prompt that has to be preempted
// for want of blocks would have been computed for nothing. While one has to wait for others' prompts, those
// behind it that need not be cut pass: it keeps nobody from running, and begins as soon as it would without
// them but for their rows.
std::int32_t scheduler::state::plan_waiting(std::int32_t budget) {
  const auto most = static_cast<std::size_t>(most_running());
  stopped_by = nullptr;
  if (waiting->size() == 0 || running.size() >= most) return budget;
  std::size_t places = most - running.size();
  auto partial = static_cast<std::int32_t>(prefilling.size());
  std::int32_t keep_free = blocks_to_keep_free();
  const sequence* passed = nullptr;
  const std::size_t passed_over = tried.empty() ? num_held : waiting->size();
  for (sequence* who : waiting->next(places + passed_over)) {
    if (budget == 0) stop_for(step_is_full());
    if (budget == 0 || places == 0) break;
    if (passed != nullptr && !waiting->may_pass(*who, *passed)) break;
    const readiness now = readiness_of(*who);
    if (now == readiness::held) continue;
    if (now == readiness::blocks_others) break;
    const std::int32_t num_rows = rows_of_waiting(*who, budget, partial);
    if (num_rows == 0 && !limits.enable_chunked_prefill) break;
    if (num_rows == 0) {
      if (passed == nullptr) passed = who;
      continue;
    }
    if (num_rows < who->num_missing()) ++partial;
    const bool alone = running.empty() && joining.empty();
    if (limits.reserve_new_tokens) keep_free += blocks_of(who->max_tokens - who->num_generated());
    joining.push({.who = who, .num_rows = num_rows, .keep_free = alone ? 0 : keep_free});
    budget -= num_rows;
    --places;
  }
  return budget;
}

// The prompts in their midst make room for those that need not be cut, not for others that are.
std::int32_t scheduler::state::rows_of_waiting(const sequence& who, std::int32_t budget,
                                               std::int32_t partial) {
  const std::int32_t num_rows = rows_of(who, budget);
  if (num_rows == who.num_missing()) return num_rows;
  if (!limits.enable_chunked_prefill) {
    stop_for("its prompt needs a step of its own (enable_chunked_prefill)");
    return 0;
  }
  if (partial >= limits.max_num_partial_prefills) {
    stop_for("other prompts are computed (max_num_partial_prefills)");
    return 0;
  }
  const std::int32_t of_rest = rows_of(who, std::max(budget - given_way, 0));
  if (of_rest == 0) stop_for(step_is_full());
  return of_rest;
}

// The first that has to wait is told why.
void scheduler::state::stop_for(const char* reason) {
  if (stopped_by == nullptr) stopped_by = reason;
}

const char* scheduler::state::step_is_full() const {
  return token_budget() < limits.max_num_batched_tokens
             ? "the steps are full (the device had no memory for larger ones)"
             : "the steps are full (max_num_batched_tokens)";
}

// A preempted request whose last step still runs is the next to come back: nobody passes it. One that is to
// share another's prompt waits for that and keeps nobody from running; nor does one that may not run beside
// suspects.
scheduler::state::readiness scheduler::state::readiness_of(sequence& who) {
  if (!tried.may_run(who.id)) return readiness::held;
  if (who.last_step > committed) return readiness::blocks_others;
  if (is_held(who)) return readiness::held;
  if (std::exchange(who.details->fork_of, std::nullopt)) --num_held;
  return readiness::ready;
}

// The first token comes with the commit of the step that has stored the last of the prompt.
bool scheduler::state::is_held(const sequence& who) const {
  if (!who.details->fork_of) return false;
  const auto first = requests.find(*who.details->fork_of);
  return first != requests.end() && first->second->num_generated() == 0;
}

std::int32_t scheduler::state::blocks_to_keep_free() const {
  auto blocks = static_cast<std::int32_t>(std::ceil(limits.watermark * limits.num_blocks));
  if (!limits.reserve_new_tokens) return blocks;
  double expected = 0.0;
  for (const sequence* who : running) expected += who->max_tokens - who->num_generated();
  return blocks + static_cast<std::int32_t>(expected * new_tokens.value()) / limits.block_size;
}

step_demand_ptr scheduler::state::demand_planned() {
  const std::shared_ptr<step_demand> demand = demands.take();
  demand->step = step;
  demand->sequences.clear();
  demand->prefix_queries.clear();
  demand->releases.clear();
  std::swap(demand->releases, owed_releases);
  waiting->want_prefixes(demand->prefix_queries);
  prefix_queries = demand->prefix_queries;
  for (planned_rows& rows : planned) {
    const sequence& who = *rows.who;
    const std::int32_t num_tokens = who.num_computed + rows.num_certain();
    rows.granted = rows.num_certain() == 1 && num_tokens <= who.table_length * limits.block_size;
    rows.demand = not_demanded;
    if (rows.granted && num_tokens + rows.num_drafts <= who.table_length * limits.block_size) continue;
    rows.demand = static_cast<std::int32_t>(demand->sequences.size());
    demand->sequences.push_back({who.id, num_tokens, 0, who.num_stored, who.place, rows.num_drafts});
  }
  for (planned_rows& rows : joining) {
    rows.demand = static_cast<std::int32_t>(demand->sequences.size());
    demand->sequences.push_back({rows.who->id, rows.who->num_tokens(), rows.keep_free, 0, rows.who->place});
  }
  num_demanded = demand->sequences.size();
  return demand;
}

}  // namespace troupe
