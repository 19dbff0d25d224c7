// A grammar as a deterministic automaton over bytes, made while it is used and shared by all matchers.
//
// A state is a set of threads and whether a text may end here. A thread is a set of items and the state of
// the lexer that reads the lexemes these items await; where a lexeme matches, the items after it begin a
// thread of their own while the longer match goes on beside it. So every way to cut a text into lexemes is
// followed, and as equal states are one state, whatever was worked out at one place (the next state by byte,
// the mask of allowed tokens) is there at every other place, and for every other request, that comes to the
// same state.
#pragma once
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/grammar/character_runs.hpp"
#include "runtime/grammar/id_index.hpp"
#include "runtime/grammar/item_sets.hpp"
#include "runtime/grammar/lexer.hpp"
#include "runtime/grammar/limits.hpp"
#include "runtime/grammar/row_table.hpp"
#include "runtime/grammar/rule_table.hpp"
#include "runtime/grammar/token_trie.hpp"

namespace troupe::grammar {

// What is fixed by compiling.
struct grammar_plan {
  rule_table rules;
  regex_store regex;
  token_trie_ptr vocabulary;
  grammar_limits limits;
  bool keeps_names_apart = false;                     // grammar_builder
  reasoning_start reasoning = reasoning_start::none;  // likewise
};

class automaton {
 public:
  using state_id = std::uint32_t;
  static constexpr state_id dead = 0;

  explicit automaton(const grammar_plan& plan);

  // All calls below spend of what the last begin() gave. They end with too_large when they would need more,
  // or more memory; nothing half-made is kept. One caller at a time.
  void begin(std::uint64_t steps) {
    given_ = steps;
    kept_steps_ = visit_steps_ = 0;
    budget_ = step_budget(steps);
  }
  // Of somebody's who looks at what is known: too_large where they are not left.
  result<void> spend(std::uint64_t steps) {
    if (!spend_on_visits(steps)) return tl::unexpected(trouble());
    return {};
  }
  // Spent since then.
  std::uint64_t steps() const { return given_ - budget_.left(); }
  // Of these, those that need not be spent again, where they were not enough: up to the last transition that
  // was worked out to its end, without looks at tokens.
  std::uint64_t kept_steps() const { return kept_steps_; }

  result<state_id> start();
  // The state after these bytes; dead when no text goes on so.
  result<state_id> next(state_id from, std::string_view bytes);
  // Writes the tokens after which some text goes on or ends: all words of the mask.
  result<void> fill_mask(state_id at, std::span<std::uint32_t> mask);
  // The only byte that may follow, where there is just one and no text ends here.
  result<std::optional<unsigned char>> forced_byte(state_id at);
  // Whether a token may stand after `at` when it begins with `begin` and is longer.
  result<bool> has_longer_token(state_id at, std::string_view begin);
  bool accepts(state_id at) const { return states_[at].accepts; }

  // What grows as something is worked out that is kept: states, those of the lexer, transitions of item sets.
  std::size_t num_known() const { return states_.size() + lexer_.num_states() + sets_.num_transitions(); }

  // It cannot go on with what it was asked for last.
  bool is_spoiled() const { return out_of_memory_ || lexer_.regex().failure(); }
  // That, or a fresh automaton is due: more is in use than the middle between what texts that were read again
  // have come to need (keep_what_was_read) and limits.max_memory_bytes, though the masks were let go.
  bool is_worn();
  // Somebody's text has been read from its beginning: what it leads through is needed, and a fresh automaton
  // would come to it, too.
  void keep_what_was_read();

  struct counts {
    std::size_t states = 0, memory_bytes = 0;
    std::uint64_t steps = 0;  // of what was last asked for
  };
  counts count() const;
  std::size_t memory_bytes() const;

 private:
  static constexpr std::uint32_t unknown = ~std::uint32_t{0};
  struct thread {
    std::uint32_t set = 0, lexer_state = 0;
    friend auto operator<=>(const thread&, const thread&) = default;
  };
  struct state {
    std::uint32_t threads = 0, num_threads = 0;
    std::uint32_t mask = unknown;  // in masks_
    bool accepts = false;
  };
  // Tokens of these groups of characters alone, and no more of them than that.
  struct decided_tokens {
    std::uint64_t groups = 0;
    std::size_t characters = 0;
  };
  struct mask {
    std::vector<std::uint32_t> words;  // or, where few tokens are allowed,
    std::vector<token_id> tokens;
  };

  // state_id::unknown: the budget is spent, or the memory.
  state_id step(state_id from, unsigned char byte_class) {
    const state_id known = rows_.at(from, byte_class);
    return known != unknown ? known : make_step(from, byte_class);
  }
  state_id make_step(state_id from, unsigned char byte_class) {
    const state_id to = work_out_step(from, byte_class);
    if (to != unknown) kept_steps_ = steps() - visit_steps_;
    return to;
  }
  state_id work_out_step(state_id from, unsigned char byte_class);
  bool spend_on_visits(std::uint64_t steps) {
    visit_steps_ += steps;
    return budget_.spend(steps);
  }
  // Of the lexer; nothing where the budget is spent, or the memory.
  std::optional<std::uint32_t> next_of_lexer(std::uint32_t from, unsigned char byte_class);
  void follow(const thread& t, std::uint32_t lexer_state);
  void set_alike(state_id from, state_id to);
  state_id intern(std::vector<thread>& threads, bool accepts);
  std::uint32_t lexer_start(std::uint32_t set);
  unsigned char class_of(unsigned char byte) const { return lexer_.classes().of[byte]; }

  character_run run_of(state_id at);
  std::optional<state_id> usual_successor(state_id at, character_run& run);
  bool take_out(state_id at, state_id usual, std::uint64_t groups, std::vector<std::uint32_t>& words);
  std::optional<decided_tokens> set_by_groups(state_id at, std::vector<std::uint32_t>& words);
  std::optional<std::uint32_t> make_mask(state_id at);
  bool walk(state_id at, const decided_tokens& done, std::vector<std::uint32_t>& words);
  error trouble() const;
  void drop_masks();

  const grammar_plan& plan_;
  lexer lexer_;
  item_sets sets_;
  std::size_t num_classes_;
  character_classes characters_;
  std::vector<unsigned char> class_sizes_;  // [class], 2 for more
  std::vector<state> states_;
  std::vector<thread> threads_;
  row_table rows_;                           // [state][class]
  advance_table advances_, lexer_advances_;  // by state; by state of the lexer
  std::vector<mask> masks_;
  std::vector<std::uint32_t> lexer_starts_;  // [item set]
  id_index index_;
  std::size_t mask_bytes_ = 0;
  std::size_t kept_bytes_ = 0;  // of texts that were read
  std::optional<state_id> start_;

  std::uint64_t given_ = 0, kept_steps_ = 0, visit_steps_ = 0;
  step_budget budget_{0};
  bool out_of_memory_ = false;
  std::vector<thread> next_threads_;
  std::vector<std::uint32_t> next_lexer_states_;  // [thread]
  std::vector<std::uint32_t> next_sets_, terminals_;
  std::vector<state_id> path_;  // [depth]
};

}  // namespace troupe::grammar
