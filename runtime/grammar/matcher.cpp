#include "runtime/grammar/matcher.hpp"

#include <algorithm>

namespace troupe::grammar {

// A worn automaton is left for the grammar's current one, in which the tokens are gone through again.
result<std::unique_lock<std::mutex>> matcher::enter() {
  if (automaton_) {
    auto held = automaton_->lock();
    if (!automaton_->is_worn()) return held;
  }
  automaton_ = grammar_->current();
  auto held = automaton_->lock();
  if (auto done = replay(); !done) {
    held.unlock();
    automaton_.reset();
    return tl::unexpected(done.error());
  }
  return held;
}

result<void> matcher::replay() {
  states_.clear();
  const auto first = automaton_->start();
  if (!first) return tl::unexpected(first.error());
  states_.push_back(*first);
  for (std::size_t i = 0; i < tokens_.size() - (terminated_ ? 1 : 0); ++i) {
    const auto next = automaton_->next(states_.back(), grammar_->vocabulary().bytes(tokens_[i]));
    if (!next) return tl::unexpected(next.error());
    states_.push_back(*next);
  }
  return {};
}

result<void> matcher::fill_mask(std::span<std::uint32_t> mask) {
  if (mask.size() < grammar_->vocabulary().num_words())
    return fail(error_code::invalid_argument, "grammar: the mask has too few words for the vocabulary");
  if (terminated_) {
    std::ranges::fill(mask, 0);
    return {};
  }
  const auto held = enter();
  if (!held) return tl::unexpected(held.error());
  return automaton_->fill_mask(states_.back(), mask);
}

// Under the lock. Whether the token was possible.
result<bool> matcher::take(token_id token) {
  const token_trie& vocabulary = grammar_->vocabulary();
  if (terminated_ || token < 0 || static_cast<std::size_t>(token) >= vocabulary.vocab_size()) return false;
  if (vocabulary.is_end(token)) {
    if (!automaton_->accepts(states_.back())) return false;
    terminated_ = true;
  } else {
    const std::string_view bytes = vocabulary.bytes(token);
    if (bytes.empty()) return false;
    const auto next = automaton_->next(states_.back(), bytes);
    if (!next) return tl::unexpected(next.error());
    if (*next == automaton::dead) return false;
    states_.push_back(*next);
  }
  tokens_.push_back(token);
  return true;
}

result<void> matcher::accept(token_id token) {
  const auto held = enter();
  if (!held) return tl::unexpected(held.error());
  const auto taken = take(token);
  if (!taken) return tl::unexpected(taken.error());
  if (!*taken) return fail(error_code::invalid_argument, "grammar: the token is not allowed here");
  return {};
}

result<void> matcher::rollback(std::size_t n) {
  if (n > tokens_.size())
    return fail(error_code::invalid_argument, "grammar: more tokens to take back than were accepted");
  if (n == 0) return {};
  tokens_.resize(tokens_.size() - n);
  if (terminated_) {
    terminated_ = false;
    --n;
  }
  if (!states_.empty()) states_.resize(states_.size() - n);
  return {};
}

result<std::size_t> matcher::count_accepted(std::span<const token_id> tokens) {
  const auto held = enter();
  if (!held) return tl::unexpected(held.error());
  std::size_t count = 0;
  for (const token_id token : tokens) {
    const auto taken = take(token);
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
  const auto held = enter();
  if (!held) return tl::unexpected(held.error());
  return automaton_->accepts(states_.back());
}

// Under the lock; `at` becomes the state after the text.
result<std::string> matcher::forced_text(std::size_t max_bytes, automaton::state_id& at) {
  std::string text;
  while (text.size() < max_bytes) {
    const auto byte = automaton_->forced_byte(at);
    if (!byte) return tl::unexpected(byte.error());
    if (!*byte) break;
    text.push_back(static_cast<char>(**byte));
    const auto next = automaton_->next(at, std::string_view(text).substr(text.size() - 1));
    if (!next) return tl::unexpected(next.error());
    at = *next;
  }
  return text;
}

result<std::string> matcher::forced_bytes(std::size_t max_bytes) {
  if (terminated_) return std::string();
  const auto held = enter();
  if (!held) return tl::unexpected(held.error());
  automaton::state_id at = states_.back();
  return forced_text(max_bytes, at);
}

result<std::vector<token_id>> matcher::forced_tokens(const tokenizer& tokenizer, std::size_t max_bytes) {
  if (terminated_) return std::vector<token_id>();
  const auto held = enter();
  if (!held) return tl::unexpected(held.error());
  automaton::state_id at = states_.back();
  const auto text = forced_text(max_bytes, at);
  if (!text) return tl::unexpected(text.error());
  std::vector<token_id> tokens =
      tokenizer.encode(*text, {.add_special_tokens = false, .parse_special = false});
  // A tokenizer that spells the text with anything more or less forces nothing.
  std::string spelled;
  for (const token_id token : tokens) spelled += grammar_->vocabulary().bytes(token);
  if (spelled != *text) return std::vector<token_id>();
  // From the first place on where a token might begin that goes past the text, nothing is decided.
  std::size_t decided = 0;
  for (; decided < text->size(); ++decided) {
    const auto longer = automaton_->has_longer_token(at, std::string_view(*text).substr(decided));
    if (!longer) return tl::unexpected(longer.error());
    if (*longer) break;
  }
  std::size_t kept = 0, bytes = 0;
  for (; kept < tokens.size(); ++kept) {
    bytes += grammar_->vocabulary().bytes(tokens[kept]).size();
    if (bytes > decided) break;
  }
  tokens.resize(kept);
  return tokens;
}

}  // namespace troupe::grammar
