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
  const result<std::size_t> further = who->place.count_accepted(draft.subspan(known));
  return further ? known + *further : draft.size();
}

void grammar_sessions::begin(const step_batch& batch) {
  if (batch.masked_samples.empty()) return;
  masked_step& step = begun_.emplace_back();
  step.step = batch.step;
  auto drafts = batch.drafts.begin();
  for (const auto [index, wants_logprobs] : batch.masked_samples) {
    const sample_row& sample = batch.samples[static_cast<std::size_t>(index)];
    step.rows.push_back({batch.sequences[static_cast<std::size_t>(sample.sequence)].id,
                         static_cast<std::size_t>(index), static_cast<std::size_t>(sample.num_generated),
                         wants_logprobs});
    while (drafts != batch.drafts.end() && drafts->first < index) ++drafts;
    if (drafts == batch.drafts.end() || drafts->first != index) continue;
    for (std::int32_t i = 0; i < drafts->count; ++i)
      step.rows.back().drafts.push_back(batch.draft(*drafts, i));
  }
  step.left = step.rows;
  step.masks = fresh_masks(batch.step, batch.samples.size());
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
  const auto ready = std::ranges::find_if(step.left, [this](const masked_row& row) { return is_ready(row); });
  if (ready == step.left.end()) return false;
  const masked_row row = *ready;
  *ready = step.left.back();
  step.left.pop_back();
  if (session* who = find(row.id); who != nullptr && !who->place.is_terminated())
    add(fill(*who, row, *step.masks), *step.masks);
  return true;
}

// Requests of one grammar work with one automaton, one after the other: they make one piece of work.
std::size_t grammar_sessions::fill_ready(mask_team& team, const fill_wrapper& each) {
  if (begun_.empty()) return 0;
  masked_step& step = begun_.front();
  const auto not_ready = [this](const masked_row& row) { return !is_ready(row); };
  const auto first = std::stable_partition(step.left.begin(), step.left.end(), not_ready);
  struct piece {
    session* who;
    masked_row row;
    filled_row made;
  };
  std::vector<piece> pieces;
  const std::size_t count = static_cast<std::size_t>(step.left.end() - first);
  for (auto row = first; row != step.left.end(); ++row)
    if (session* who = find(row->id); who != nullptr && !who->place.is_terminated())
      pieces.push_back({who, *row, {}});
  step.left.erase(first, step.left.end());
  std::ranges::stable_sort(pieces, std::less{}, [](const piece& p) { return &p.who->place.grammar(); });
  std::vector<std::span<piece>> of_grammars;
  for (piece& p : pieces) {
    const bool same =
        !of_grammars.empty() && &of_grammars.back().front().who->place.grammar() == &p.who->place.grammar();
    if (same)
      of_grammars.back() = std::span(of_grammars.back().data(), of_grammars.back().size() + 1);
    else
      of_grammars.emplace_back(&p, 1);
  }
  team.run(of_grammars.size(), [&](std::size_t i) {
    for (piece& p : of_grammars[i]) each([&] { p.made = fill(*p.who, p.row, *step.masks); });
  });
  for (piece& p : pieces) add(std::move(p.made), *step.masks);
  return count;
}

void grammar_sessions::add(filled_row row, step_masks& masks) {
  if (row.end) masks.ends.push_back(std::move(*row.end));
  if (row.forced) masks.forced.push_back(std::move(*row.forced));
  if (row.past) overruns_.push_back(std::move(*row.past));
}

// Touches the session and the row's samples alone.
grammar_sessions::filled_row grammar_sessions::fill(session& who, const masked_row& row, step_masks& masks) {
  const bool is_forced = row.num_generated >= who.forced_from && row.num_generated < who.forced_to;
  auto filled = who.failure ? result<void>(tl::unexpected(*who.failure)) : fill_mask(who, row, masks);
  if (filled) {
    masks.is_masked[row.sample] = 1;
    filled_row made;
    if (is_forced) return made;
    if (!row.wants_logprobs) made.forced = force(who, row.sample, masks);
    if (!made.forced) fill_drafts(who, row, masks, made);
    return made;
  }
  who.is_over = true;
  std::ranges::fill(masks.row(row.sample), ~std::uint32_t{0});
  const bool may_be_complete = !who.failure;
  filled_row made;
  end(made, row.sample, who.place, std::move(filled.error()), may_be_complete);
  return made;
}

// Without an error where the text is complete and the vocabulary has no token to end it.
void grammar_sessions::end(filled_row& made, std::size_t sample, matcher& place, error why,
                           bool may_be_complete) {
  made.end.emplace();
  made.end->sample = static_cast<std::int32_t>(sample);
  if (may_be_complete && why.code == error_code::invalid_argument && place.can_end().value_or(false)) return;
  const bool is_past_limit = why.code == error_code::too_large && !place.is_text_to_blame();
  why.code = error_code::invalid_argument;
  if (is_past_limit) made.past = overrun{&place.grammar(), why};
  made.end->failure = std::move(why);
}

// The matcher goes ahead with the drafts and comes back.
void grammar_sessions::fill_drafts(session& who, const masked_row& row, step_masks& masks, filled_row& made) {
  std::size_t taken = 0;
  for (const token_id draft : row.drafts) {
    auto done = who.place.accept(draft);
    if (!done && done.error().code == error_code::invalid_argument) break;
    const std::size_t sample = row.sample + taken + 1;
    if (done) {
      ++taken;
      if (who.place.is_terminated()) break;
      done = who.place.fill_mask(masks.row(sample));
    }
    if (!done) {
      std::ranges::fill(masks.row(sample), ~std::uint32_t{0});
      end(made, sample, who.place, std::move(done.error()), true);
      break;
    }
    masks.is_masked[sample] = 1;
    if (!row.wants_logprobs) made.forced = force(who, sample, masks);
    if (made.forced) break;
  }
  if (auto back = who.place.rollback(taken); !back) who.failure = std::move(back.error());
}

result<void> grammar_sessions::fill_mask(session& who, const masked_row& row, step_masks& masks) {
  const std::span<std::uint32_t> mask = masks.row(row.sample);
  if (row.num_generated >= who.forced_from && row.num_generated < who.forced_to) {
    allow_only(mask, who.place.accepted(row.num_generated));
    return {};
  }
  if (auto back = who.place.rollback(who.place.num_accepted() - row.num_generated); !back) return back;
  who.forced_to = std::min(who.forced_to, row.num_generated);
  return who.place.fill_mask(mask);
}

// One token alone is as soon sampled, and what costs too much to find is sampled.
std::optional<forced_tokens> grammar_sessions::force(session& who, std::size_t sample, step_masks& masks) {
  if (!spells_forced_) return std::nullopt;
  auto tokens = who.place.forced_tokens(*spells_forced_);
  if (!tokens || tokens->size() < 2) return std::nullopt;
  allow_only(masks.row(sample), tokens->front());
  tokens->erase(tokens->begin());
  return forced_tokens{static_cast<std::int32_t>(sample), std::move(*tokens)};
}

step_masks_ptr grammar_sessions::take() {
  if (begun_.empty() || !begun_.front().left.empty()) return nullptr;
  taken_.push_back(std::move(begun_.front()));
  begun_.pop_front();
  step_masks& masks = *taken_.back().masks;
  std::ranges::sort(masks.ends, {}, &sample_end::sample);
  std::ranges::sort(masks.forced, {}, &forced_tokens::sample);
  return std::exchange(taken_.back().masks, nullptr);
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
    const token_id token = result.tokens[row.sample + i].token;
    accept(who, token);
    const auto forced = std::ranges::lower_bound(result.forced, sample, {}, &forced_tokens::sample);
    if (forced != result.forced.end() && forced->sample == sample) {
      who.forced_from = who.place.num_accepted();
      for (const token_id each : forced->tokens) accept(who, each);
      who.forced_to = who.place.num_accepted();
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
  for (const auto* steps : {&begun_, &taken_})
    for (const masked_step& step : *steps)
      for (const masked_row& row : step.rows)
        if (const auto found = sessions_.find(row.id); found != sessions_.end())
          found->second.is_over = false;
  begun_.clear();
  taken_.clear();
}

}  // namespace troupe::grammar
