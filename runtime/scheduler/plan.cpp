#include <algorithm>
#include <cmath>
#include <utility>

#include "runtime/prefetch.hpp"
#include "runtime/scheduler/scheduler_state.hpp"
#include "runtime/scheduler/waiting_line.hpp"

namespace troupe {

step_demand_ptr scheduler::state::plan() {
  if (is_planned || flights.full() || is_verifying()) return nullptr;
  joining.clear();
  const sequence* const turn = left_out;
  const std::int32_t left = plan_waiting(make_place_for_first(plan_running(turn), turn));
  plan_drafts(rows_for_drafts(std::max(left - wanted_rows, 0)));
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
// they take turns, a token each. Prompts come last, those that end soon before the others; to somebody who
// was preempted what it had been answered by then is a prompt, too.
std::int32_t scheduler::state::plan_running(const sequence* turn) {
  std::int32_t budget = token_budget();
  planned.clear();
  passes_brief = false;
  past_prompt.clear();
  brief_prompts.clear();
  long_prompts.clear();
  const auto first = turn == nullptr ? running.end() : std::find(running.begin(), running.end(), turn);
  left_out = nullptr;
  const bool take_turns = first != running.end() && running.size() > static_cast<std::size_t>(budget);
  if (first != running.end()) plan_decodes({first, running.end()}, take_turns, budget);
  plan_decodes({running.begin(), first}, take_turns, budget);
  rank_long_prompts();
  for (const std::vector<sequence*>* next : {&past_prompt, &brief_prompts, &long_prompts})
    if (budget == 0 && left_out == nullptr && !next->empty()) left_out = next->front();
  wanted_rows = 0;
  plan_chunks(past_prompt, budget);
  num_ending = 0;
  const std::int32_t kept = share_of_long_prompts(budget);
  std::int32_t room = budget - kept;
  plan_chunks(brief_prompts, room);
  budget = room + kept;
  num_partial_brief = static_cast<std::int32_t>(brief_prompts.size()) - std::exchange(num_ending, 0);
  plan_long_prompts(is_waited_for() ? kept : budget, budget);
  num_partial_long = static_cast<std::int32_t>(long_prompts.size()) - num_ending;
  return budget;
}

void scheduler::state::plan_decodes(std::span<sequence* const> some, bool take_turns, std::int32_t& budget) {
  for (std::size_t i = 0; i < some.size(); ++i) {
    if (i + far_prefetch_distance < some.size()) prefetch_line(some[i + far_prefetch_distance]);
    sequence* who = some[i];
    if (!awaiting_masks.empty() && who->awaits_mask) continue;
    const std::int32_t missing = who->num_missing();
    if (missing > 1 && !take_turns) {
      std::vector<sequence*>& prompts = is_long(missing) ? long_prompts : brief_prompts;
      (who->num_computed < who->details->known_at_admission ? prompts : past_prompt).push_back(who);
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

// A prompt gets room for all of itself before its first chunk runs: half a prompt that has to be preempted
// for want of blocks would have been computed for nothing. While a long one has to wait for others, those
// behind it pass that are brief; but they leave it a place and blocks to begin with when it may.
std::int32_t scheduler::state::plan_waiting(std::int32_t budget) {
  const auto most = static_cast<std::size_t>(most_running());
  stopped_by = nullptr;
  passed.reset();
  if (waiting->size() == 0 || running.size() >= most) return budget;
  std::size_t places = most - running.size();
  std::int32_t keep_free = blocks_to_keep_free();
  const sequence* first_passed = nullptr;
  constexpr std::size_t most_long_ones_passed = 16;
  const std::size_t passed_over = tried.empty() ? num_held : waiting->size();
  const std::size_t long_ones = shares_steps() ? most_long_ones_passed : 0;
  waiting_line line(*waiting, places + long_ones, places + passed_over + long_ones);
  while (sequence* const who = line.next()) {
    if (budget == 0) stop_for(step_is_full());
    if (budget == 0 || places == 0) break;
    if (first_passed != nullptr && !waiting->may_pass(*who, *first_passed)) break;
    const readiness now = readiness_of(*who);
    if (now == readiness::held) continue;
    if (now == readiness::blocks_others) break;
    const std::int32_t num_rows = rows_of_waiting(*who, budget);
    if (num_rows == 0) {
      stop_for(why_not_now(*who));
      if (!shares_steps()) break;
      if (first_passed != nullptr) continue;
      first_passed = who;
      passed = who->id;
      passes_brief = !is_long(missing_of_waiting(*who));
      --places;
      keep_free += blocks_of(who->num_tokens());
      continue;
    }
    const bool is_cut = num_rows < who->num_missing();
    if (is_cut) ++(is_long(missing_of_waiting(*who)) ? num_partial_long : num_partial_brief);
    const bool alone = running.empty() && joining.empty();
    if (limits.reserve_new_tokens) keep_free += blocks_of(who->max_tokens - who->num_generated());
    joining.push(
        {.who = who, .num_rows = num_rows, .keep_free = alone ? 0 : keep_free, .passes = passed.has_value()});
    budget -= num_rows;
    --places;
  }
  return budget;
}

const char* scheduler::state::why_not_now(const sequence& who) const {
  if (!limits.enable_chunked_prefill) return "its prompt needs a step of its own (enable_chunked_prefill)";
  const std::int32_t before = is_long(missing_of_waiting(who)) ? num_long_before(who) : num_partial_brief;
  const bool is_one_too_many = before >= limits.max_num_partial_prefills;
  return is_one_too_many ? "other prompts are computed (max_num_partial_prefills)" : step_is_full();
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
  if (passed) demand->prefix_queries.push_back(*passed);
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
