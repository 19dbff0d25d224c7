// What a matcher's grammar leaves no choice about.
#include <optional>
#include <utility>

#include "runtime/grammar/matcher.hpp"
#include "runtime/grammar/name_filter.hpp"

namespace troupe::grammar {

// Under the lock; `at` becomes the state after the text.
result<std::string> matcher::forced_text(const compiled_grammar::access& machine, std::size_t max_bytes,
                                         automaton::state_id& at) {
  std::string text;
  std::optional<kept_names> before;
  if (names_) before.emplace(*names_);
  while (text.size() < max_bytes) {
    const auto byte = machine->forced_byte(at);
    if (!byte) return tl::unexpected(byte.error());
    if (!*byte) break;
    const char next = static_cast<char>(**byte);
    const auto allowed =
        names_
            ? name_filter(*machine, at, grammar_->vocabulary(), *names_).advance(std::string_view(&next, 1))
            : result<bool>(true);
    if (!allowed) return tl::unexpected(allowed.error());
    if (!*allowed) break;
    const auto to = machine->next(at, std::string_view(&next, 1));
    if (!to) return tl::unexpected(to.error());
    text.push_back(next);
    at = *to;
  }
  return text;
}

result<std::string> matcher::forced_bytes(std::size_t max_bytes) {
  if (terminated_) return std::string();
  const auto machine = enter_to_guess();
  if (!machine) return tl::unexpected(machine.error());
  automaton::state_id at = states_.back();
  return forced_text(*machine, max_bytes, at);
}

result<std::vector<token_id>> matcher::forced_tokens(const tokenizer& tokenizer, std::size_t max_bytes) {
  auto tokens = try_forced_tokens(tokenizer, no_bound, max_bytes);
  if (!tokens) return tl::unexpected(std::move(tokens.error()));
  return std::move(**tokens);
}

result<std::optional<std::vector<token_id>>> matcher::try_forced_tokens(const tokenizer& tokenizer,
                                                                        std::uint64_t most,
                                                                        std::size_t max_bytes) {
  steps_at_entry_ = means_.steps;
  auto guessed = with_all_memory([&] { return guess_within(tokenizer, most, max_bytes); });
  spent_ = steps_at_entry_ - means_.steps;
  if (guessed && !*guessed) means_.steps = steps_at_entry_;
  return guessed;
}

result<std::optional<std::vector<token_id>>> matcher::guess_within(const tokenizer& tokenizer,
                                                                   std::uint64_t most,
                                                                   std::size_t max_bytes) {
  if (terminated_) return std::vector<token_id>();
  const auto machine = enter();
  if (!machine) return tl::unexpected(machine.error());
  const bool is_bound = most < means_.steps;
  if (is_bound) (*machine)->begin(most);
  auto tokens = forced_tokens(*machine, tokenizer, max_bytes);
  if (tokens) return std::move(*tokens);
  if (is_bound && tokens.error().param == "max_mask_steps") return std::nullopt;
  return tl::unexpected(blame(std::move(tokens.error())));
}

// Under the lock.
result<std::vector<token_id>> matcher::forced_tokens(const compiled_grammar::access& machine,
                                                     const tokenizer& tokenizer, std::size_t max_bytes) {
  automaton::state_id at = states_.back();
  const auto text = forced_text(machine, max_bytes, at);
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
    const auto longer = machine->has_longer_token(at, std::string_view(*text).substr(decided));
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
