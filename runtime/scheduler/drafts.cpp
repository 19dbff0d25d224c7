#include <algorithm>
#include <limits>
#include <utility>

#include "runtime/sampling/sampler.hpp"
#include "runtime/scheduler/scheduler_state.hpp"

namespace troupe {

namespace {

// What the host does between two steps and hides where it plans ahead, which it cannot beside drafts.
constexpr double overhead_ns = 100'000;
constexpr std::int32_t most_rows = std::numeric_limits<std::int32_t>::max();

// How many tokens of its draft, from the next one on, the sequence's next step may verify.
std::size_t verifiable_tokens(const sequence& who, std::int32_t next) {
  if (who.num_missing() != 1) return 0;
  const draft& guess = who.details->guess;
  const std::int32_t tokens_left = who.max_tokens - who.num_generated() - who.num_pending() - 1;
  const std::int32_t allowed = who.sampling->num_speculative_tokens.value_or(most_draft_tokens);
  const std::int32_t behind = guess.number != 0 ? most_draft_tokens : guess.num_behind_lead();
  return who.drafts_from(next, std::min({tokens_left, allowed, most_draft_tokens, behind})).size();
}

}  // namespace

void scheduler::state::propose(draft guess) {
  const auto found = requests.find(guess.id);
  if (found == requests.end()) return;
  sequence& who = *found->second;
  if (guess.probabilities.size() != guess.tokens.size()) return;
  who.details->guess = std::move(guess);
  who.has_drafts = !who.next_drafts(1).empty();
  some_have_drafts = some_have_drafts || who.has_drafts;
}

std::optional<std::int32_t> scheduler::state::place_in_grammar(const draft& guess) const {
  const auto found = requests.find(guess.id);
  if (found == requests.end()) return std::nullopt;
  const sequence& who = *found->second;
  if (!who.has_grammar || guess.after < who.prompt_length) return std::nullopt;
  return guess.after - who.prompt_length;
}

// Until then nobody knows where the sequences of that step go on. Blocks are taken back only where no further
// step reads the table; so nothing is planned behind drafts that have been dropped and hold some, either.
bool scheduler::state::is_verifying() const {
  if (flights.empty()) return false;
  const step_in_flight& last = flights[flights.size() - 1];
  return !last.batch->drafts.empty() || last.has_draft_blocks;
}

// Beside as many as run a row that is surely right would have to pay. While drafts are verified nobody knows
// what to go on from: a draft model would guess in vain, and forget what it is to hear of those.
bool scheduler::state::wants_drafts() const {
  if (is_verifying()) return false;
  const auto beside = static_cast<std::int32_t>(running.size());
  if (beside == 0 || beside > limits.disable_drafts_by_batch_size.value_or(most_rows)) return false;
  if (!limits.adaptive_drafts) return true;
  const std::optional<double> cost = costs.usual().cost(beside);
  return cost && costs.usual().least_slope(beside) * beside < *cost;
}

void scheduler::state::plan_drafts(std::int32_t budget) {
  has_planned_drafts = false;
  if (!some_have_drafts || budget == 0 || !wants_drafts()) return;
  add_candidates(budget);
  if (candidates.rows.empty()) return;
  step_load load = planned_load();
  load.row_costs = candidates.row_costs;
  draft_lengths& chosen = candidates.chosen;
  if (limits.adaptive_drafts) {
    choose_draft_lengths(candidates.of_rows, load, costs.usual(), chosen);
  } else {
    chosen.lengths.clear();
    for (const auto& each : candidates.of_rows)
      chosen.lengths.push_back(static_cast<std::int32_t>(each.size()));
  }
  for (std::size_t i = 0; i < candidates.rows.size(); ++i)
    plan_drafts_of(*candidates.rows[i], chosen.lengths[i], budget);
}

// What a sequence's rows take more than usual ones, by its context and by how its tokens are drawn.
double scheduler::state::beside_usual(const planned_rows& rows, bool draws_further) const {
  const std::int32_t context = rows.who->num_computed;
  const bool is_random = !is_greedy(*rows.who->sampling);
  return costs.of_first_row(context, is_random) +
         (rows.num_rows - 1) * costs.of_further_row(context, draws_further && is_random);
}

// Of a step with a prompt's rows nothing is learned: most of them are not sampled.
void scheduler::state::served_step(std::chrono::nanoseconds took) {
  if (flights.empty() || costs.usual().most_rows() == 0) return;
  std::int32_t num_rows = 0;
  double beside = 0.0;
  for (const planned_rows& rows : flights.front().rows) {
    if (!rows.sampled || rows.num_certain() != 1) return;
    num_rows += rows.num_rows;
    beside += beside_usual(rows, true);
  }
  costs.served(num_rows, beside, static_cast<double>(took.count()));
}

step_load scheduler::state::planned_load() const {
  step_load load{.max_rows = token_budget(), .draft_overhead = overhead_ns};
  for (const schedule_batch* batch : {&planned, &joining}) {
    for (const planned_rows& rows : *batch) {
      (rows.num_rows == 1 ? load.decode_rows : load.other_rows) += rows.num_rows;
      load.overhead += beside_usual(rows, false);
    }
  }
  return load;
}

void scheduler::state::plan_drafts_of(planned_rows& rows, std::int32_t count, std::int32_t& budget) {
  rows.num_drafts = std::min(count, budget);
  rows.num_rows += rows.num_drafts;
  has_planned_drafts = has_planned_drafts || rows.num_drafts > 0;
  budget -= rows.num_drafts;
}

// Of a draft with a number nothing is chosen: its length must not depend on how likely its tokens are, and
// who made it has weighed what it costs.
void scheduler::state::add_candidates(std::int32_t& budget) {
  candidates.rows.clear();
  candidates.probabilities.clear();
  candidates.of_rows.clear();
  candidates.row_costs.clear();
  some_have_drafts = false;
  for (planned_rows& rows : planned) {
    sequence& who = *rows.who;
    if (!who.has_drafts) continue;
    const std::optional<std::int32_t> next = who.next_draft();
    who.has_drafts = next.has_value();
    if (!next) continue;
    some_have_drafts = true;
    const std::size_t count = verifiable_tokens(who, *next);
    if (count == 0) continue;
    if (who.details->guess.number != 0)
      plan_drafts_of(rows, static_cast<std::int32_t>(count), budget);
    else
      add_candidate(rows, count);
  }
  const float* at = candidates.probabilities.data();
  for (std::span<const float>& each : candidates.of_rows) {
    each = {at, each.size()};
    at += each.size();
  }
}

// A draft behind pending tokens is right only where what it says of these is, too.
void scheduler::state::add_candidate(planned_rows& rows, std::size_t count) {
  const sequence& who = *rows.who;
  const std::span<const float> all = who.details->guess.probabilities;
  const auto next = static_cast<std::size_t>(*who.next_draft());
  float before = 1.0F;
  for (const float probability : all.first(next).last(static_cast<std::size_t>(who.num_pending())))
    before *= probability;
  const std::size_t begin = candidates.probabilities.size();
  const std::span<const float> drafted = all.subspan(next, count);
  candidates.probabilities.insert(candidates.probabilities.end(), drafted.begin(), drafted.end());
  candidates.probabilities[begin] *= before;
  candidates.rows.push_back(&rows);
  candidates.row_costs.push_back(costs.of_further_row(who.num_tokens(), !is_greedy(*who.sampling)));
  candidates.of_rows.emplace_back(static_cast<const float*>(nullptr), count);  // pointed at them later
}

// Since they were planned, tokens may have come that contradict them, or that were forced.
bool scheduler::state::drop_vain_drafts() {
  if (!has_planned_drafts) return false;
  bool hold_blocks = false;
  for (planned_rows& rows : planned) {
    if (rows.num_drafts == 0) continue;
    const sequence& who = *rows.who;
    const std::int32_t certain = who.num_computed + rows.num_certain();
    const std::int32_t room = who.table_length * limits.block_size - certain;
    rows.has_draft_blocks = who.table_length > blocks_of(certain);
    hold_blocks = hold_blocks || rows.has_draft_blocks;
    const bool is_next = who.num_missing() == rows.num_certain();
    rows.keep_drafts(
        is_next ? std::min(room, static_cast<std::int32_t>(who.next_drafts(rows.num_drafts).size())) : 0);
  }
  return hold_blocks;
}

void scheduler::state::count_drafts(const planned_rows& rows, std::int32_t right) {
  if (rows.num_drafts == 0) return;
  const auto verified = static_cast<std::uint64_t>(rows.num_drafts);
  ++totals.drafts.drafts;
  totals.drafts.tokens += verified;
  totals.drafts.accepted += static_cast<std::uint64_t>(right);
  if (rows.has_numbered_draft) {
    totals.drafts.numbered.tokens += verified;
    totals.drafts.numbered.accepted += static_cast<std::uint64_t>(right);
  }
  for (std::int32_t i = 0; i < rows.num_drafts; ++i) ++by_place.verified[static_cast<std::size_t>(i)];
  for (std::int32_t i = 0; i < right; ++i) ++by_place.accepted[static_cast<std::size_t>(i)];
}

void scheduler::state::trim(sequence& who, scheduler_output& output) const {
  const std::int32_t needed = blocks_of(who.num_tokens());
  if (who.table_length <= needed) return;
  who.table_length = needed;
  output.trims.push_back({who.id, who.num_tokens(), who.place});
}

}  // namespace troupe
