#include "runtime/grammar/grammar_sessions.hpp"

#include <algorithm>
#include <functional>
#include <utility>

namespace troupe::grammar {

void grammar_sessions::open(request_id id, compiled_grammar_ptr grammar) {
  num_words_ = grammar->vocabulary().num_words();
  vocab_size_ = grammar->vocabulary().vocab_size();
  sessions_.insert_or_assign(id, session(std::move(grammar)));
}

void grammar_sessions::release(request_id id) { sessions_.erase(id); }

grammar_sessions::session* grammar_sessions::find(request_id id) {
  const auto found = sessions_.find(id);
  return found == sessions_.end() || found->second.is_over ? nullptr : &found->second;
}

// Behind the end of its text a request has no token.
std::size_t grammar_sessions::count_possible(request_id id, std::size_t num_generated,
                                             std::span<const token_id> draft) {
  session* who = find(id);
  if (who == nullptr || who->failure || who->place.num_accepted() < num_generated) return draft.size();
  std::size_t known = 0;
  for (; num_generated + known < who->place.num_accepted() && known < draft.size(); ++known)
    if (draft[known] != who->place.accepted(num_generated + known)) return known;
  const result<std::size_t> further = who->place.count_accepted(draft.subspan(known), steps_a_step_);
  return further ? known + *further : draft.size();
}

void grammar_sessions::begin(const step_batch& batch) {
  if (batch.masked_samples.empty()) return;
  masked_step& step = begun_.emplace_back();
  step.step = batch.step;
  auto drafts = batch.drafts.begin();
  for (const auto [index, wants_logprobs] : batch.masked_samples) {
    const sample_row& sample = batch.samples[static_cast<std::size_t>(index)];
    masked_row row{batch.sequences[static_cast<std::size_t>(sample.sequence)].id,
                   static_cast<std::size_t>(index), static_cast<std::size_t>(sample.num_generated),
                   wants_logprobs};
    if (is_in_vain(row)) continue;
    step.rows.push_back(std::move(row));
    while (drafts != batch.drafts.end() && drafts->first < index) ++drafts;
    if (drafts == batch.drafts.end() || drafts->first != index) continue;
    for (std::int32_t i = 0; i < drafts->count; ++i)
      step.rows.back().drafts.push_back(batch.draft(*drafts, i));
  }
  step.has_ready_rows = batch.sequences.size() > batch.masked_samples.size();
  step.left = step.rows;
  step.masks = fresh_masks(batch.step, batch.samples.size());
}

bool grammar_sessions::is_in_vain(const masked_row& row) {
  session* who = find(row.id);
  if (who == nullptr || !who->withheld_at) return false;
  if (row.num_generated > *who->withheld_at) return true;
  who->withheld_at.reset();
  return false;
}

std::shared_ptr<step_masks> grammar_sessions::fresh_masks(std::uint64_t step, std::size_t num_samples) {
  std::shared_ptr<step_masks> masks = masks_.take();
  masks->step = step;
  masks->num_words = num_words_;
  masks->words.assign(num_samples * num_words_, ~std::uint32_t{0});
  for (std::size_t i = 0; i < num_samples && vocab_size_ % 32 != 0; ++i)
    masks->row(i).back() = (std::uint32_t{1} << (vocab_size_ % 32)) - 1;
  masks->is_masked.assign(num_samples, 0);
  masks->ends.clear();
  masks->forced.clear();
  masks->withheld.clear();
  return masks;
}

bool grammar_sessions::is_ready(const masked_row& row) {
  session* who = find(row.id);
  return who == nullptr || who->failure || who->place.is_terminated() ||
         who->place.num_accepted() >= row.num_generated;
}

bool grammar_sessions::fill_one() {
  if (begun_.empty()) return false;
  masked_step& step = begun_.front();
  const auto not_ready = [this](const masked_row& row) { return !is_ready(row); };
  const auto first = std::stable_partition(step.left.begin(), step.left.end(), not_ready);
  if (first == step.left.end()) return false;
  const auto next = std::ranges::max_element(
      first, step.left.end(), {}, [this](const masked_row& row) { return times_withheld(find(row.id)); });
  const masked_row row = *next;
  step.left.erase(next);
  if (session* who = find(row.id); who != nullptr && !who->place.is_terminated())
    add(row, fill(*who, row, step), step);
  serve_one_at_least(step);
  return true;
}

// Those that are ready, by grammar in the order of their first rows: who gets what the step may take must not
// depend on where grammars lie in memory. Of a grammar's, who waited longest comes first.
std::vector<grammar_sessions::piece> grammar_sessions::take_ready(masked_step& step) {
  const auto not_ready = [this](const masked_row& row) { return !is_ready(row); };
  const auto first = std::stable_partition(step.left.begin(), step.left.end(), not_ready);
  std::unordered_map<const compiled_grammar*, std::size_t> numbers;
  std::vector<piece> pieces;
  for (auto row = first; row != step.left.end(); ++row) {
    session* who = find(row->id);
    if (who == nullptr || who->place.is_terminated()) continue;
    const std::size_t number = numbers.emplace(&who->place.grammar(), numbers.size()).first->second;
    pieces.push_back({who, *row, number});
  }
  step.left.erase(first, step.left.end());
  std::ranges::stable_sort(pieces, [](const piece& a, const piece& b) {
    return std::pair(a.grammar, b.who->times_withheld) < std::pair(b.grammar, a.who->times_withheld);
  });
  return pieces;
}

// Requests of one grammar work with one automaton, one after the other: they make one piece of work.
std::size_t grammar_sessions::fill_ready(mask_team& team, const fill_wrapper& each) {
  if (begun_.empty()) return 0;
  masked_step& step = begun_.front();
  const std::size_t before = step.left.size();
  std::vector<piece> pieces = take_ready(step);
  const std::size_t count = before - step.left.size();
  std::vector<std::span<piece>> of_grammars;
  for (auto begin = pieces.begin(); begin != pieces.end();) {
    const auto end =
        std::find_if(begin, pieces.end(), [&](const piece& p) { return p.grammar != begin->grammar; });
    of_grammars.emplace_back(begin, end);
    begin = end;
  }
  std::ranges::stable_sort(of_grammars, std::greater{},
                           [](std::span<const piece> same) { return same.front().who->times_withheld; });
  team.run(of_grammars.size(), [&](std::size_t i) {
    for (piece& p : of_grammars[i]) each([&] { p.made = fill(*p.who, p.row, step); });
  });
  for (piece& p : pieces) add(p.row, std::move(p.made), step);
  serve_one_at_least(step);
  return count;
}

void grammar_sessions::add(const masked_row& row, filled_row made, masked_step& step) {
  const bool is_whole_row_withheld = made.withheld && static_cast<std::size_t>(*made.withheld) == row.sample;
  if (is_whole_row_withheld) {
    step.withheld.push_back(row);
  } else {
    step.has_ready_rows = true;
    if (made.withheld) step.masks->withheld.push_back(*made.withheld);
  }
  if (made.end) step.masks->ends.push_back(std::move(*made.end));
  if (made.forced) step.masks->forced.push_back(std::move(*made.forced));
  if (made.past) overruns_.push_back(std::move(*made.past));
}

// Where all wait, waiting helps nobody: who has waited longest is served, whatever it takes.
void grammar_sessions::serve_one_at_least(masked_step& step) {
  if (!step.left.empty() || step.has_ready_rows || step.withheld.empty()) return;
  const auto first = std::ranges::max_element(
      step.withheld, {}, [this](const masked_row& row) { return times_withheld(find(row.id)); });
  const masked_row row = *first;
  step.withheld.erase(first);
  session* who = find(row.id);
  if (who == nullptr) return;
  who->share = unbound_share;
  add(row, fill(*who, row, step), step);
}

step_masks_ptr grammar_sessions::take() {
  if (begun_.empty() || !begun_.front().left.empty()) return nullptr;
  masked_step& step = begun_.front();
  step_masks& masks = *step.masks;
  for (const masked_row& row : step.withheld) {
    masks.withheld.push_back(static_cast<std::int32_t>(row.sample));
    withhold(row);
  }
  std::ranges::sort(masks.ends, {}, &sample_end::sample);
  std::ranges::sort(masks.forced, {}, &forced_tokens::sample);
  std::ranges::sort(masks.withheld);
  taken_.push_back({step.step, std::move(step.rows)});
  step_masks_ptr taken = std::move(step.masks);
  begun_.pop_front();
  return taken;
}

void grammar_sessions::withhold(const masked_row& row) {
  session* who = find(row.id);
  if (who == nullptr) return;
  ++who->times_withheld;
  if (who->prepared_at == row.num_generated) who->share *= 2;  // the work of others was in its way
  who->withheld_at = row.num_generated;
  who->may_force = !row.wants_logprobs;
  const auto in_vain = [&row](const masked_row& other) {
    return other.id == row.id && other.num_generated > row.num_generated;
  };
  for (masked_step& later : begun_) {
    std::erase_if(later.rows, in_vain);
    std::erase_if(later.left, in_vain);
  }
}

void grammar_sessions::advance(const step_result& result) {
  if (taken_.empty() || taken_.front().step != result.step) return;
  for (const masked_row& row : taken_.front().rows) {
    session* who = find(row.id);
    if (who == nullptr || who->place.is_terminated() || row.sample >= result.tokens.size()) continue;
    if (who->place.num_accepted() != row.num_generated) continue;  // forced since the step was begun
    advance(*who, row, result);
  }
  taken_.pop_front();
}

// Draft by draft, as the scheduler takes them.
void grammar_sessions::advance(session& who, const masked_row& row, const step_result& result) {
  for (std::size_t i = 0; i <= row.drafts.size(); ++i) {
    const auto sample = static_cast<std::int32_t>(row.sample + i);
    if (result.is_withheld(row.sample + i)) return;
    const token_id token = result.tokens[row.sample + i].token;
    accept(who, token);
    const auto forced = std::ranges::lower_bound(result.forced, sample, {}, &forced_tokens::sample);
    if (forced != result.forced.end() && forced->sample == sample) {
      who.forced_from = row.num_generated + i + 1;
      for (const token_id each : forced->tokens) accept(who, each);
      who.forced_to = who.forced_from + forced->tokens.size();
      return;
    }
    const bool goes_on = !who.failure && !who.place.is_terminated();
    if (!goes_on || i == row.drafts.size() || token != row.drafts[i]) return;
  }
}

void grammar_sessions::accept(session& who, token_id token) {
  if (who.failure) return;
  if (auto accepted = who.place.accept(token); !accepted) who.failure = std::move(accepted.error());
}

void grammar_sessions::forget_steps() {
  const auto open_again = [this](const auto& steps) {
    for (const auto& step : steps)
      for (const masked_row& row : step.rows)
        if (const auto found = sessions_.find(row.id); found != sessions_.end())
          found->second.is_over = false;
  };
  open_again(begun_);
  open_again(taken_);
  for (auto& [id, who] : sessions_) who.withheld_at.reset();
  begun_.clear();
  taken_.clear();
}

}  // namespace troupe::grammar
