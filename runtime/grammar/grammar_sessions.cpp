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

void grammar_sessions::begin(const step_batch& batch) {
  if (batch.masked_samples.empty()) return;
  masked_step& step = begun_.emplace_back();
  step.step = batch.step;
  for (const std::int32_t index : batch.masked_samples) {
    const sample_row& sample = batch.samples[static_cast<std::size_t>(index)];
    step.rows.push_back({batch.sequences[static_cast<std::size_t>(sample.sequence)].id,
                         static_cast<std::size_t>(index), static_cast<std::size_t>(sample.num_generated),
                         sample.sampling->logprobs.has_value()});
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
}

// Touches the session and the sample's row alone.
grammar_sessions::filled_row grammar_sessions::fill(session& who, const masked_row& row, step_masks& masks) {
  const bool is_forced = row.num_generated >= who.forced_from && row.num_generated < who.forced_to;
  auto filled = who.failure ? result<void>(tl::unexpected(*who.failure)) : fill_mask(who, row, masks);
  if (filled) {
    masks.is_masked[row.sample] = 1;
    if (is_forced || !spells_forced_ || row.wants_logprobs) return {};
    return {.end = {}, .forced = force(who, row, masks)};
  }
  who.is_over = true;
  std::ranges::fill(masks.row(row.sample), ~std::uint32_t{0});
  sample_end end;
  end.sample = static_cast<std::int32_t>(row.sample);
  const bool is_complete = !who.failure && filled.error().code == error_code::invalid_argument &&
                           who.place.can_end().value_or(false);
  if (!is_complete) {
    end.failure = std::move(filled.error());
    end.failure->code = error_code::invalid_argument;
  }
  return {.end = std::move(end), .forced = {}};
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
std::optional<forced_tokens> grammar_sessions::force(session& who, const masked_row& row, step_masks& masks) {
  auto tokens = who.place.forced_tokens(*spells_forced_);
  if (!tokens || tokens->size() < 2) return std::nullopt;
  allow_only(masks.row(row.sample), tokens->front());
  tokens->erase(tokens->begin());
  return forced_tokens{static_cast<std::int32_t>(row.sample), std::move(*tokens)};
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
    accept(*who, result.tokens[row.sample].token);
  }
  for (const forced_tokens& forced : result.forced) {
    const auto row =
        std::ranges::find(taken_.front().rows, static_cast<std::size_t>(forced.sample), &masked_row::sample);
    session* who = row == taken_.front().rows.end() ? nullptr : find(row->id);
    if (who == nullptr) continue;
    who->forced_from = who->place.num_accepted();
    for (const token_id token : forced.tokens) accept(*who, token);
    who->forced_to = who->place.num_accepted();
  }
  taken_.pop_front();
}

void grammar_sessions::accept(session& who, token_id token) {
  if (who.failure) return;
  if (auto accepted = who.place.accept(token); !accepted) who.failure = std::move(accepted.error());
}

void grammar_sessions::fail(std::uint64_t step) {
  auto& of = !taken_.empty() && taken_.front().step == step ? taken_ : begun_;
  if (of.empty() || of.front().step != step) return;
  for (const masked_row& row : of.front().rows)
    if (session* who = find(row.id)) who->is_over = true;
  of.pop_front();
}

result<std::size_t> grammar_sessions::fill_drafts(request_id id, std::span<const token_id> drafts,
                                                  std::span<std::uint32_t> masks) {
  session* who = find(id);
  if (who == nullptr) return troupe::fail(error_code::not_found, "grammar: no such request");
  return fill_draft_masks(who->place, drafts, masks);
}

result<std::size_t> fill_draft_masks(matcher& place, std::span<const token_id> drafts,
                                     std::span<std::uint32_t> masks) {
  const std::size_t words = place.grammar().vocabulary().num_words();
  if (masks.size() < (drafts.size() + 1) * words)
    return fail(error_code::invalid_argument, "grammar: the masks have too few words for the drafts");
  std::ranges::fill(masks, 0);
  std::size_t taken = 0;
  result<void> done = place.fill_mask(masks.first(words));
  while (done && taken < drafts.size() && place.accept(drafts[taken])) {
    ++taken;
    done = place.fill_mask(masks.subspan(taken * words, words));
  }
  if (auto back = place.rollback(taken); !back) return tl::unexpected(back.error());
  if (!done) return tl::unexpected(done.error());
  return taken;
}

}  // namespace troupe::grammar
