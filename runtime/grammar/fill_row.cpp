// The masks of one request in one step: within what the step may take, with drafts and with what is forced;
// and the same ahead of the step, for a request whose row was withheld.
#include <algorithm>
#include <utility>

#include "runtime/grammar/grammar_sessions.hpp"

namespace troupe::grammar {

// Whatever the others take, a little: what is known already costs next to nothing, and is not to wait.
std::uint64_t grammar_sessions::allowance(const session& who, const masked_step& step) const {
  if (steps_a_step_ == matcher::no_bound || who.share == unbound_share) return matcher::no_bound;
  const std::uint64_t all = steps_a_step_ * who.share;
  const std::uint64_t least = std::max<std::uint64_t>(steps_a_step_ / rows_that_always_fit, 1);
  return std::max(all - std::min<std::uint64_t>(all, step.spent), least);
}

// Touches the session, the row's samples and what the step has spent.
grammar_sessions::filled_row grammar_sessions::fill(session& who, const masked_row& row, masked_step& step) {
  // Nobody reads what is sampled for such a place, so that an error is told behind it.
  const bool is_forced = who.has_forced(row.num_generated);
  if (is_forced && who.failure) return {};
  auto filled = who.failure ? result<bool>(tl::unexpected(*who.failure)) : fill_mask(who, row, step);
  filled_row made;
  if (filled && *filled && !is_forced && !row.wants_logprobs)
    if (auto forced = force(who, row.sample, step, made); !forced)
      filled = tl::unexpected(std::move(forced.error()));
  if (!filled) {
    who.is_over = true;
    std::ranges::fill(step.masks->row(row.sample), ~std::uint32_t{0});
    const bool may_be_complete = !who.failure;
    end(made, row.sample, who.place, std::move(filled.error()), may_be_complete);
    return made;
  }
  if (!*filled) made.withheld = static_cast<std::int32_t>(row.sample);
  step.masks->is_masked[row.sample] = *filled ? 1 : 0;
  if (is_forced || made.withheld) return made;
  who.share = 1;
  who.times_withheld = who.times_tried = 0;
  if (!made.forced) fill_drafts(who, row, step, made);
  return made;
}

// Without an error where the text is complete and the vocabulary has no token to end it.
void grammar_sessions::end(filled_row& made, std::size_t sample, matcher& place, error why,
                           bool may_be_complete) {
  made.end.emplace();
  made.end->sample = static_cast<std::int32_t>(sample);
  if (may_be_complete && why.code == error_code::invalid_argument && place.can_end().value_or(false)) return;
  const bool is_past_limit = why.code == error_code::too_large;
  why.code = error_code::invalid_argument;
  if (is_past_limit) made.past = overrun{&place.grammar(), why, place.is_text_to_blame()};
  made.end->failure = std::move(why);
}

// The matcher goes ahead with the drafts and comes back.
void grammar_sessions::fill_drafts(session& who, const masked_row& row, masked_step& step, filled_row& made) {
  step_masks& masks = *step.masks;
  const matcher::means before = who.place.means_left();
  std::size_t taken = 0;
  for (const token_id draft : row.drafts) {
    auto accepted = who.place.accept(draft);
    if (!accepted && accepted.error().code == error_code::invalid_argument) break;
    const std::size_t sample = row.sample + taken + 1;
    if (accepted) ++taken;
    if (accepted && who.place.is_terminated()) break;
    auto filled =
        accepted ? try_mask(who, sample, step) : result<bool>(tl::unexpected(std::move(accepted.error())));
    if (filled && *filled && !row.wants_logprobs)
      if (auto forced = force(who, sample, step, made); !forced)
        filled = tl::unexpected(std::move(forced.error()));
    if (!filled) {
      std::ranges::fill(masks.row(sample), ~std::uint32_t{0});
      end(made, sample, who.place, std::move(filled.error()), true);
      break;
    }
    if (!*filled) {
      made.withheld = static_cast<std::int32_t>(sample);
      break;
    }
    masks.is_masked[sample] = 1;
    if (made.forced || made.withheld) break;
  }
  if (auto back = who.place.rollback(taken); !back) who.failure = std::move(back.error());
  who.place.set_back(before);
}

// False: withheld.
result<bool> grammar_sessions::fill_mask(session& who, const masked_row& row, masked_step& step) {
  if (who.has_forced(row.num_generated)) {
    allow_only(step.masks->row(row.sample), who.place.accepted(row.num_generated));
    return true;
  }
  if (auto back = who.place.rollback(who.place.num_accepted() - row.num_generated); !back)
    return tl::unexpected(std::move(back.error()));
  who.forced_to = std::min(who.forced_to, row.num_generated);
  return try_mask(who, row.sample, step);
}

result<bool> grammar_sessions::try_mask(session& who, std::size_t sample, masked_step& step) {
  const std::uint64_t most = allowance(who, step);
  auto tried = who.place.try_mask(step.masks->row(sample), most);
  const bool is_done = !tried || *tried == matcher::progress::done;
  charge(step, who.place, most, is_done);
  if (!tried) return tl::unexpected(std::move(tried.error()));
  if (!is_done && is_whole_share(who, most)) ask_for_more(who, most, *tried == matcher::progress::some);
  return is_done;
}

// Whatever is known after a try may be let go of before the next one, for ever: also who gets further each
// time needs enough for all at once in the end.
void grammar_sessions::ask_for_more(session& who, std::uint64_t most, bool is_further) {
  const bool is_slow = ++who.times_tried % most_tries == 0;
  if (is_slow || (is_whole_share(who, most) && !is_further)) who.share *= 2;
}

// One token alone is as soon sampled. Neither what takes too long for this step nor what takes more than the
// text may spend is sampled instead: the tokens must not depend on what others have worked out, or had let go
// of.
result<void> grammar_sessions::force(session& who, std::size_t sample, masked_step& step, filled_row& made) {
  if (!spells_forced_) return {};
  const std::uint64_t most = allowance(who, step);
  auto tried = who.place.try_forced_tokens(*spells_forced_, most);
  const bool is_done = !tried || tried->has_value();
  charge(step, who.place, most, is_done);
  if (!tried) return tl::unexpected(std::move(tried.error()));
  const auto place = static_cast<std::int32_t>(sample);
  if (!is_done) {
    ask_for_more(who, most, false);
    made.withheld = place;
    return {};
  }
  std::vector<token_id>& tokens = **tried;
  if (tokens.size() < 2) return {};
  allow_only(step.masks->row(sample), tokens.front());
  tokens.erase(tokens.begin());
  made.forced = forced_tokens{place, std::move(tokens)};
  return {};
}

std::vector<request_id> grammar_sessions::prepare(std::span<const request_id> ids) {
  std::vector<request_id> ready;
  if (ids.empty()) return ready;
  masked_step work;
  work.masks = fresh_masks(0, 1);
  for (const request_id id : ids) {
    session* who = find(id);
    if (who == nullptr || prepare(*who, work)) ready.push_back(id);
  }
  return ready;
}

// Of a copy: it is the step's own guess that counts.
bool grammar_sessions::is_guess_known(session& who, masked_step& work) {
  if (!spells_forced_) return true;
  matcher ahead = who.place.fork();
  const std::uint64_t most = allowance(who, work);
  const auto tried = ahead.try_forced_tokens(*spells_forced_, most);
  const bool is_done = !tried || tried->has_value();
  charge(work, ahead, most, is_done);
  if (!is_done) ask_for_more(who, most, false);
  return is_done;
}

// Whatever could end the request is left to a step, which can tell. It comes to that, too, where all that the
// request may still spend is no more than the step may.
bool grammar_sessions::prepare(session& who, masked_step& work) {
  if (who.failure || who.place.is_terminated()) return true;
  if (who.place.steps_left() > allowance(who, work)) {
    const auto tried = try_mask(who, 0, work);
    if (tried && !*tried) return false;
    if (tried && who.may_force && !is_guess_known(who, work)) return false;
  }
  who.prepared_at = who.place.num_accepted();
  return true;
}

}  // namespace troupe::grammar
