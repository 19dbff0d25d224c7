#include "runtime/grammar/matcher.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "runtime/grammar/name_filter.hpp"

namespace troupe::grammar {

error matcher::of_text(std::string why) {
  is_text_to_blame_ = true;
  return {error_code::too_large, "grammar: " + std::move(why), "mask_steps_per_token"};
}

// Where the automaton is another one than before, the tokens are gone through again, on a budget of their
// own. Whose work was let go of, to make room for others, has to do it again: nor is that held against it.
result<compiled_grammar::access> matcher::enter() {
  is_text_to_blame_ = has_read_again_ = false;
  compiled_grammar::access machine = grammar_->use(means_.steps, std::exchange(goes_on_, false));
  has_fresh_automaton_ = machine.is_fresh();
  steps_at_entry_ = means_.steps;
  if (machine.generation() == generation_) return machine;
  generation_ = 0;
  const grammar_limits& limits = grammar_->limits();
  has_read_again_ = !tokens_.empty();
  steps_at_entry_ = means_.steps = limits.max_mask_steps;
  const std::uint64_t most = steps_to_read_again(tokens_.size(), limits);
  machine->begin(most);
  const auto done = replay(machine);
  if (has_read_again_) machine->begin(means_.steps);
  if (has_read_again_ && done) machine->keep_what_was_read();
  if (!done) states_.clear();
  if (!done && !tokens_.empty() && done.error().param == "max_mask_steps")
    return tl::unexpected(of_text(fmt::format(
        "to read the {} tokens of this text again takes more than {} steps", tokens_.size(), most)));
  if (!done) return tl::unexpected(done.error());
  generation_ = machine.generation();
  return machine;
}

// It is the grammar that passes a limit where the tokens before have left everything, in however many tries.
error matcher::blame(error why) {
  const grammar_limits& limits = grammar_->limits();
  if (why.param == "max_mask_steps" && means_.has_all && !has_read_again_)
    return exceeded("steps for one token", limits.max_mask_steps, "max_mask_steps");
  if (why.param != "max_mask_steps") return why;
  return of_text(fmt::format(
      "the masks of this text take more work than they may: {} steps and {} more with each token "
      "(--grammar-max-mask-steps, --grammar-mask-steps-per-token); a grammar with fewer choices side by side "
      "takes less",
      limits.max_mask_steps, limits.mask_steps_per_token));
}

// What is above half is for guesses, so that the next mask has enough whatever they cost.
result<compiled_grammar::access> matcher::enter_to_guess() {
  auto machine = enter();
  if (machine) (*machine)->begin(steps_to_guess());
  return machine;
}

// Each place in the text counts once, however often drafts are tried there.
void matcher::refill() {
  if (tokens_.size() <= means_.furthest) return;
  means_.furthest = tokens_.size();
  const grammar_limits& limits = grammar_->limits();
  means_.steps = std::min(limits.max_mask_steps, means_.steps + limits.mask_steps_per_token);
  means_.has_all = means_.steps == limits.max_mask_steps;
}

result<void> matcher::replay(const compiled_grammar::access& machine) {
  states_.clear();
  const auto first = machine->start();
  if (!first) return tl::unexpected(first.error());
  states_.push_back(*first);
  for (std::size_t i = 0; i < tokens_.size() - (terminated_ ? 1 : 0); ++i) {
    const auto next = machine->next(states_.back(), grammar_->vocabulary().bytes(tokens_[i]));
    if (!next) return tl::unexpected(next.error());
    states_.push_back(*next);
  }
  return {};
}

result<void> matcher::fill_mask(std::span<std::uint32_t> mask) {
  const auto filled = try_mask(mask, no_bound);
  return filled ? result<void>() : tl::unexpected(filled.error());
}

// A request must not end in company where it goes on alone, nor guess less: what a try leaves half done, and
// will be done again, is not held against it.
result<matcher::progress> matcher::try_mask(std::span<std::uint32_t> mask, std::uint64_t most) {
  std::uint64_t kept = 0;
  steps_at_entry_ = means_.steps;
  auto tried = with_all_memory([&] { return try_within(mask, most, kept); });
  spent_ = steps_at_entry_ - means_.steps;
  if (tried && *tried != progress::done) means_.steps = steps_at_entry_ - std::min(steps_at_entry_, kept);
  goes_on_ = tried && *tried != progress::done;
  return tried;
}

result<matcher::progress> matcher::try_within(std::span<std::uint32_t> mask, std::uint64_t most,
                                              std::uint64_t& kept) {
  if (mask.size() < grammar_->vocabulary().num_words())
    return fail(error_code::invalid_argument, "grammar: the mask has too few words for the vocabulary");
  if (terminated_) {
    std::ranges::fill(mask, 0);
    return progress::done;
  }
  const auto machine = enter();
  if (!machine) return tl::unexpected(machine.error());
  const bool is_bound = most < means_.steps;
  if (is_bound) (*machine)->begin(most);
  const std::size_t known = (*machine)->num_known();
  auto filled = mask_at(*machine, mask);
  if (filled) return progress::done;
  if (is_bound && filled.error().param == "max_mask_steps") {
    const bool is_further = (*machine)->num_known() > known;
    if (is_further) kept = (*machine)->kept_steps();
    return is_further ? progress::some : progress::none;
  }
  return tl::unexpected(blame(std::move(filled.error())));
}

// Under the lock, as the next two.
result<void> matcher::mask_at(const compiled_grammar::access& machine, std::span<std::uint32_t> mask) {
  auto filled = machine->fill_mask(states_.back(), mask);
  if (!filled || !names_) return filled;
  return name_filter(*machine, states_.back(), grammar_->vocabulary(), *names_).take_out(mask);
}

result<bool> matcher::take_names(const compiled_grammar::access& machine, std::string_view bytes) {
  if (!names_) return true;
  places_.push_back(names_->here());
  auto taken = name_filter(*machine, states_.back(), grammar_->vocabulary(), *names_).advance(bytes);
  if (!taken || !*taken) places_.pop_back();
  return taken;
}

// Whether the token was possible.
result<bool> matcher::take(const compiled_grammar::access& machine, token_id token) {
  const token_trie& vocabulary = grammar_->vocabulary();
  if (terminated_ || token < 0 || static_cast<std::size_t>(token) >= vocabulary.vocab_size()) return false;
  if (vocabulary.is_end(token)) {
    if (!machine->accepts(states_.back())) return false;
    terminated_ = true;
    if (names_) places_.push_back(names_->here());
  } else {
    const std::string_view bytes = vocabulary.bytes(token);
    if (bytes.empty()) return false;
    const auto next = machine->next(states_.back(), bytes);
    if (!next) return tl::unexpected(next.error());
    if (*next == automaton::dead) return false;
    if (auto taken = take_names(machine, bytes); !taken || !*taken) return taken;
    states_.push_back(*next);
  }
  tokens_.push_back(token);
  return true;
}

result<bool> matcher::enter_and_take(token_id token) {
  const auto machine = enter();
  if (!machine) return tl::unexpected(machine.error());
  return take(*machine, token);
}

result<void> matcher::accept(token_id token) {
  auto taken = with_all_memory([&] { return enter_and_take(token); });
  if (!taken) return tl::unexpected(blame(std::move(taken.error())));
  if (!*taken) return fail(error_code::invalid_argument, "grammar: the token is not allowed here");
  refill();
  return {};
}

result<void> matcher::rollback(std::size_t n) {
  if (n > tokens_.size())
    return fail(error_code::invalid_argument, "grammar: more tokens to take back than were accepted");
  if (n == 0) return {};
  means_.has_all = means_.has_all && means_.steps == grammar_->limits().max_mask_steps;
  tokens_.resize(tokens_.size() - n);
  if (names_) {
    names_->back_to(places_[tokens_.size()]);
    places_.resize(tokens_.size());
  }
  if (terminated_) {
    terminated_ = false;
    --n;
  }
  if (!states_.empty()) states_.resize(states_.size() - n);
  return {};
}

result<std::size_t> matcher::count_accepted(std::span<const token_id> tokens, std::uint64_t most) {
  const auto machine = enter_to_guess();
  if (!machine) return tl::unexpected(machine.error());
  if (most < steps_to_guess()) (*machine)->begin(most);
  std::size_t count = 0;
  for (const token_id token : tokens) {
    const auto taken = take(*machine, token);
    if (!taken || !*taken) {
      if (auto back = rollback(count); !back) return tl::unexpected(back.error());
      if (!taken) return tl::unexpected(taken.error());
      return count;
    }
    ++count;
  }
  if (auto back = rollback(count); !back) return tl::unexpected(back.error());
  return count;
}

result<bool> matcher::can_end() {
  if (terminated_) return true;
  const auto machine = enter();
  if (!machine) return tl::unexpected(machine.error());
  return (*machine)->accepts(states_.back());
}

}  // namespace troupe::grammar
