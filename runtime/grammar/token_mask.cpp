// The mask of a state: one walk over the trie of the vocabulary, less what character groups decide
// beforehand.
#include <algorithm>
#include <array>
#include <string_view>

#include "runtime/grammar/automaton.hpp"
#include "runtime/token_bits.hpp"

namespace troupe::grammar {

namespace {

constexpr std::size_t few_tokens = 512;       // below this a list is smaller than a bit each
constexpr std::size_t visits_in_a_step = 16;  // of nodes of the trie, against working out one state

}  // namespace

// A state of one thread whose lexeme does not match meanwhile goes on as its lexer does, whatever the items
// are.
character_run automaton::run_of(state_id at) {
  const std::size_t most = plan_.vocabulary->max_characters();
  const state& s = states_[at];
  if (s.num_threads == 1 && !s.accepts) {
    const run_automaton by_lexer{[this](std::uint32_t from, unsigned char byte_class) {
                                   const auto to = next_of_lexer(from, byte_class);
                                   return to && lexer_.matched(*to).empty() ? *to : unknown;
                                 },
                                 characters_, lexer::dead, unknown};
    return find_run(by_lexer, threads_[s.threads].lexer_state, most, lexer_advances_);
  }
  const run_automaton by_state{
      [this](std::uint32_t from, unsigned char byte_class) { return step(from, byte_class); }, characters_,
      dead, unknown};
  return find_run(by_state, at, most, advances_);
}

// Adds the tokens that lead somewhere, but for those that `done` has decided.
bool automaton::walk(state_id at, const decided_tokens& done, std::vector<std::uint32_t>& words) {
  const auto nodes = plan_.vocabulary->nodes();
  const auto groups = plan_.vocabulary->groups();
  path_[0] = at;
  std::size_t visited = 0;
  for (std::uint32_t n = 1; n < nodes.size();) {
    const token_trie::node& node = nodes[n];
    ++visited;
    if ((groups[n] & ~done.groups) == 0 && node.max_characters <= done.characters) {
      n = node.end;
      continue;
    }
    const state_id to = step(path_[node.depth - 1U], class_of(node.byte));
    if (to == dead) {
      n = node.end;
      continue;
    }
    if (to == unknown) return false;
    path_[node.depth] = to;
    for (token_id token = node.token; token >= 0; token = plan_.vocabulary->next_same(token))
      add_token(words, token);
    ++n;
  }
  return spend_on_visits(visited / visits_in_a_step);
}

// Where most letters lead, if any text of the characters that `run` gets stays there: from inside of a
// string, or from where a few first letters begin something else, such as the names of known members.
std::optional<automaton::state_id> automaton::usual_successor(state_id at, character_run& run) {
  constexpr std::string_view letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
  std::array<state_id, letters.size()> to{};
  std::ranges::transform(letters, to.begin(),
                         [&](char c) { return step(at, class_of(static_cast<unsigned char>(c))); });
  std::ranges::sort(to);
  const state_id middle = to[to.size() / 2];  // what more than half of them are
  if (middle == dead || middle == unknown || std::ranges::count(to, middle) <= std::ssize(to) / 2)
    return std::nullopt;
  run = run_of(middle);
  if (!run.is_endless || run.groups == 0) return std::nullopt;
  return middle;
}

// Takes those tokens of `groups` alone out that lead nowhere. Whatever comes to `usual` stays there.
bool automaton::take_out(state_id at, state_id usual, std::uint64_t groups,
                         std::vector<std::uint32_t>& words) {
  const auto nodes = plan_.vocabulary->nodes();
  path_[0] = at;
  std::size_t visited = 0;
  for (std::uint32_t n = 1; n < nodes.size();) {
    const token_trie::node& node = nodes[n];
    const bool is_ascii = node.byte < 0x80;
    ++visited;
    if (is_ascii && ((groups >> character_groups::of(node.byte)) & 1) == 0) {
      n = node.end;
      continue;
    }
    const state_id to = step(path_[node.depth - 1U], class_of(node.byte));
    if (to == unknown) return false;
    if (to != dead && !(to == usual && is_ascii)) {
      path_[node.depth] = to;
      ++n;
      continue;
    }
    for (; n < node.end && to == dead; ++n, ++visited)
      for (token_id token = nodes[n].token; token >= 0; token = plan_.vocabulary->next_same(token))
        remove_token(words, token);
    n = node.end;
  }
  return spend_on_visits(visited / visits_in_a_step);
}

// Sets the tokens that character groups decide, and says which these are; nothing when a step cannot be
// told.
std::optional<automaton::decided_tokens> automaton::set_by_groups(state_id at,
                                                                  std::vector<std::uint32_t>& words) {
  constexpr std::uint64_t small_letters = std::uint64_t{1} << character_groups::letters;
  const token_trie& trie = *plan_.vocabulary;
  character_run r = run_of(at);
  std::optional<state_id> usual;
  character_run after;
  if ((r.groups & small_letters) == 0 && (usual = usual_successor(at, after))) r = after;
  if (budget_.is_spent() || out_of_memory_) return std::nullopt;
  if (r.characters == 0) return decided_tokens{};
  words = trie.made_of(r.groups);
  const auto short_enough = trie.of_characters(r.characters);
  for (std::size_t i = 0; i < words.size() && !r.is_endless; ++i) words[i] &= short_enough[i];
  if (usual && !take_out(at, *usual, r.groups, words)) return std::nullopt;
  return decided_tokens{r.groups, r.is_endless || r.ends_dead ? 255 : r.characters};
}

std::optional<std::uint32_t> automaton::make_mask(state_id at) {
  const token_trie& trie = *plan_.vocabulary;
  mask made;
  made.words.resize(trie.num_words());
  const auto done = set_by_groups(at, made.words);
  if (!done || !walk(at, *done, made.words)) return std::nullopt;
  if (states_[at].accepts)
    for (const token_id token : trie.end_tokens()) add_token(made.words, token);
  std::size_t count = 0;
  for (std::size_t i = 0; i < made.words.size() && count < few_tokens; ++i)
    count += static_cast<std::size_t>(std::popcount(made.words[i]));
  if (count < few_tokens) {
    made.tokens.reserve(count);
    for (std::size_t i = 0; i < made.words.size(); ++i)
      for (std::uint32_t left = made.words[i]; left != 0; left &= left - 1)
        made.tokens.push_back(static_cast<token_id>(i * 32 + static_cast<unsigned>(std::countr_zero(left))));
    made.words = {};
  }
  mask_bytes_ += sizeof(mask) + made.words.capacity() * 4 + made.tokens.capacity() * 4;
  masks_.push_back(std::move(made));
  return static_cast<std::uint32_t>(masks_.size() - 1);
}

result<void> automaton::fill_mask(state_id at, std::span<std::uint32_t> words) {
  if (states_[at].mask == unknown) {
    const auto made = make_mask(at);
    if (!made) return tl::unexpected(trouble());
    states_[at].mask = *made;
  }
  const mask& known = masks_[states_[at].mask];
  const auto tail = words.begin() + static_cast<std::ptrdiff_t>(known.words.size());
  std::ranges::copy(known.words, words.begin());
  std::fill(tail, words.end(), 0);
  for (const token_id token : known.tokens) add_token(words, token);
  if (known.words.empty() && known.tokens.empty())
    return fail(error_code::invalid_argument, "grammar: no token of the vocabulary can go on from here");
  return {};
}

}  // namespace troupe::grammar
