#include "runtime/grammar/automaton.hpp"

#include <algorithm>

#include "runtime/grammar/hash.hpp"

namespace troupe::grammar {

namespace {

constexpr std::size_t sets_in_a_step = 4;         // that are sorted
constexpr std::size_t states_between_looks = 16;  // of the lexer: how much memory is used takes adding up

}  // namespace

automaton::automaton(const grammar_plan& plan)
    : plan_(plan),
      lexer_(plan.regex, plan.rules.terminals),
      sets_(plan.rules),
      num_classes_(lexer_.num_classes()),
      characters_(lexer_.classes().of, lexer_.regex().alphabet()),
      class_sizes_(num_classes_),
      rows_(num_classes_),
      path_(plan.vocabulary->max_depth() + 1) {
  for (const std::uint8_t c : lexer_.classes().of)
    class_sizes_[c] = static_cast<unsigned char>(std::min(class_sizes_[c] + 1, 2));
  std::vector<thread> none;
  intern(none, false);  // dead
}

error automaton::trouble() const {
  if (is_spoiled())
    return exceeded("bytes of states, item sets and masks", plan_.limits.max_memory_bytes,
                    "max_memory_bytes");
  return exceeded("steps for one token", given_, "max_mask_steps");
}

automaton::state_id automaton::intern(std::vector<thread>& threads, bool accepts) {
  std::ranges::sort(threads);
  threads.erase(std::unique(threads.begin(), threads.end()), threads.end());
  std::uint64_t hash = accepts ? 1 : 0;
  for (const thread& t : threads) hash = mix(hash, (std::uint64_t{t.set} << 32) | t.lexer_state);
  const auto known = index_.find(hash, [&](std::uint32_t id) {
    const state& s = states_[id];
    return s.accepts == accepts &&
           std::ranges::equal(std::span(threads_).subspan(s.threads, s.num_threads), threads);
  });
  if (known) return *known;
  state s;
  s.threads = static_cast<std::uint32_t>(threads_.size());
  s.num_threads = static_cast<std::uint32_t>(threads.size());
  s.accepts = accepts;
  threads_.insert(threads_.end(), threads.begin(), threads.end());
  const auto id = static_cast<state_id>(states_.size());
  states_.push_back(s);
  rows_.add_row(threads.empty() ? dead : unknown);
  index_.insert(hash, id);
  return id;
}

// The lexer's state before the lexemes that the set awaits.
std::uint32_t automaton::lexer_start(std::uint32_t set) {
  if (set < lexer_starts_.size() && lexer_starts_[set] != unknown) return lexer_starts_[set];
  const auto transitions = sets_.transitions(set, budget_);
  if (!transitions) return lexer::dead;
  terminals_.clear();
  for (const item_sets::transition& t : *transitions)
    if (terminals_.empty() || terminals_.back() != t.terminal) terminals_.push_back(t.terminal);
  if (!budget_.spend(terminals_.size())) return lexer::dead;
  if (lexer_starts_.size() <= set) lexer_starts_.resize(sets_.num_sets(), unknown);
  return lexer_starts_[set] = lexer_.start(terminals_);
}

// One thread has come to this state of its lexer: it goes on, and where lexemes match, the sets after them
// are due.
void automaton::follow(const thread& t, std::uint32_t lexer_state) {
  if (lexer_.goes_on(lexer_state)) next_threads_.push_back({t.set, lexer_state});
  const auto matched = lexer_.matched(lexer_state);
  if (matched.empty()) return;
  const auto transitions = sets_.transitions(t.set, budget_);
  if (!transitions) return;
  auto at = transitions->begin();
  for (const std::uint32_t terminal : matched) {
    at = std::lower_bound(at, transitions->end(), terminal,
                          [](const item_sets::transition& x, std::uint32_t y) { return x.terminal < y; });
    for (; at != transitions->end() && at->terminal == terminal; ++at) next_sets_.push_back(at->to);
  }
}

// The same step for every class that takes the lexer, of each thread, where next_lexer_states_ says.
void automaton::set_alike(state_id from, state_id to) {
  const std::span threads = std::span(threads_).subspan(states_[from].threads, states_[from].num_threads);
  for (std::size_t c = 0; c < num_classes_; ++c) {
    state_id& known = rows_.at(from, c);
    if (known != unknown) continue;
    std::size_t i = 0;
    while (i < threads.size() && lexer_.known_next(threads[i].lexer_state, c) == next_lexer_states_[i]) ++i;
    if (i == threads.size()) known = to;
  }
}

// States of the lexer are made also where none of the automaton comes of them.
std::optional<std::uint32_t> automaton::next_of_lexer(std::uint32_t from, unsigned char byte_class) {
  const std::size_t before = lexer_.num_states();
  const auto to = lexer_.next(from, byte_class, budget_);
  const bool is_due = lexer_.num_states() != before && lexer_.num_states() % states_between_looks == 0;
  if (!is_due || memory_bytes() <= plan_.limits.max_memory_bytes) return to;
  out_of_memory_ = true;
  return std::nullopt;
}

automaton::state_id automaton::work_out_step(state_id from, unsigned char byte_class) {
  const state& s = states_[from];
  if (s.num_threads == 1 && !s.accepts) {
    // The same state once more, as for most bytes of a string.
    const std::uint32_t before = threads_[s.threads].lexer_state;
    const auto to = next_of_lexer(before, byte_class);
    if (!to) return unknown;
    if (to == before && lexer_.matched(before).empty()) {
      next_lexer_states_.assign(1, before);
      set_alike(from, from);
      return from;
    }
  }
  next_threads_.clear();
  next_lexer_states_.clear();
  next_sets_.clear();
  for (std::uint32_t i = 0; i < states_[from].num_threads; ++i) {
    const thread t = threads_[states_[from].threads + i];
    const auto to = next_of_lexer(t.lexer_state, byte_class);
    if (!to || !budget_.spend()) return unknown;
    next_lexer_states_.push_back(*to);
    if (*to != lexer::dead) follow(t, *to);
  }
  bool accepts = false;
  if (!next_sets_.empty()) {
    budget_.spend(next_sets_.size() / sets_in_a_step);
    std::ranges::sort(next_sets_);
    next_sets_.erase(std::unique(next_sets_.begin(), next_sets_.end()), next_sets_.end());
    const std::uint32_t set = sets_.unite(next_sets_, budget_);
    if (budget_.is_spent()) return unknown;
    accepts = sets_.accepts(set);
    const std::uint32_t lexer_state = lexer_start(set);
    if (lexer_state != lexer::dead) next_threads_.push_back({set, lexer_state});
  }
  if (budget_.is_spent()) return unknown;
  const state_id to = intern(next_threads_, accepts);
  set_alike(from, to);
  if (to + 1 == states_.size() && memory_bytes() > plan_.limits.max_memory_bytes) {
    out_of_memory_ = true;
    return unknown;
  }
  return to;
}

result<automaton::state_id> automaton::start() {
  if (start_) return *start_;
  const std::uint32_t lexer_state = lexer_start(sets_.start());
  if (budget_.is_spent()) return tl::unexpected(trouble());
  std::vector<thread> threads;
  if (lexer_state != lexer::dead) threads.push_back({sets_.start(), lexer_state});
  start_ = intern(threads, sets_.accepts(sets_.start()));
  return *start_;
}

result<automaton::state_id> automaton::next(state_id from, std::string_view bytes) {
  for (const char c : bytes) {
    from = step(from, class_of(static_cast<unsigned char>(c)));
    if (from == unknown) return tl::unexpected(trouble());
    if (from == dead) break;
  }
  return from;
}

result<std::optional<unsigned char>> automaton::forced_byte(state_id at) {
  if (states_[at].accepts) return std::nullopt;
  std::optional<unsigned char> only;
  for (std::size_t c = 0; c < num_classes_; ++c) {
    const state_id to = step(at, static_cast<unsigned char>(c));
    if (to == unknown) return tl::unexpected(trouble());
    if (to == dead) continue;
    if (only || class_sizes_[c] > 1) return std::nullopt;
    only = lexer_.classes().representatives[c];
  }
  return only;
}

result<bool> automaton::has_longer_token(state_id at, std::string_view begin_bytes) {
  const auto nodes = plan_.vocabulary->nodes();
  std::uint32_t top = 0;
  for (const char c : begin_bytes) {
    std::uint32_t child = top + 1;
    while (child < nodes[top].end && nodes[child].byte != static_cast<unsigned char>(c))
      child = nodes[child].end;
    if (child >= nodes[top].end) return false;
    top = child;
  }
  const std::size_t base = nodes[top].depth;
  path_[base] = at;
  for (std::uint32_t n = top + 1; n < nodes[top].end;) {
    const state_id to = step(path_[nodes[n].depth - 1U], class_of(nodes[n].byte));
    if (to == unknown || !budget_.spend()) return tl::unexpected(trouble());
    if (to == dead) {
      n = nodes[n].end;
      continue;
    }
    if (nodes[n].token >= 0) return true;
    path_[nodes[n++].depth] = to;
  }
  return false;
}

std::size_t automaton::memory_bytes() const {
  return lexer_.memory_bytes() + sets_.memory_bytes() + states_.capacity() * sizeof(state) +
         threads_.capacity() * sizeof(thread) + rows_.memory_bytes() +
         lexer_starts_.capacity() * sizeof(std::uint32_t) + (advances_.size() + lexer_advances_.size()) * 48 +
         index_.memory_bytes() + mask_bytes_;
}

void automaton::drop_masks() {
  masks_.clear();
  mask_bytes_ = 0;
  for (state& s : states_) s.mask = unknown;
}

// Each fresh automaton has room for half of what is left beside the texts, so that it lasts: reading them
// again and again takes no longer than writing them.
bool automaton::is_worn() {
  if (is_spoiled()) return true;
  const std::size_t all = plan_.limits.max_memory_bytes;
  const std::size_t left = (all - std::min(kept_bytes_, all)) / 2;
  const std::size_t most = all - left;
  if (memory_bytes() > most && mask_bytes_ > left / 2) drop_masks();
  return memory_bytes() > most;
}

void automaton::keep_what_was_read() { kept_bytes_ = std::max(kept_bytes_, memory_bytes() - mask_bytes_); }

automaton::counts automaton::count() const { return {states_.size(), memory_bytes(), steps()}; }

}  // namespace troupe::grammar
