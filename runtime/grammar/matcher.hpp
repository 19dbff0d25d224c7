// Where one request stands in its grammar.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "runtime/grammar/compiled_grammar.hpp"
#include "runtime/grammar/json_names.hpp"
#include "runtime/request.hpp"

namespace troupe::grammar {

// A value that holds nothing of the automaton: copy it to fork. It is a few bytes for each token, and where
// names are kept apart those of the text (json_names). A matcher may spend max_mask_steps, and
// regains mask_steps_per_token with each token that is accepted, and all where what was worked out was let go
// of meanwhile. Beside that, a call may have to read all tokens again, within steps_to_read_again().
// Matchers of one grammar may be used on several threads, one thread each.
class matcher {
 public:
  static constexpr std::uint64_t no_bound = ~std::uint64_t{0};
  explicit matcher(compiled_grammar_ptr grammar)
      : grammar_(std::move(grammar)), means_{.steps = grammar_->limits().max_mask_steps} {
    if (grammar_->keeps_names_apart()) names_.emplace(grammar_->reasoning());
  }

  // Sets bit t % 32 of mask[t / 32] exactly for the tokens t after which some text of the grammar goes on or
  // ends, and for the end tokens where a text of the grammar ends here. Where names are kept apart no token
  // is allowed behind which an object has two members of one name. Bits past the vocabulary are 0. mask
  // has at least ceil(vocabulary / 32) words. Errors: too_large, naming the limit; invalid_argument when no
  // token is allowed (the vocabulary cannot spell the grammar, or no further name). After is_terminated() no
  // bit is set.
  result<void> fill_mask(std::span<std::uint32_t> mask);
  // The same with no more than about `most` steps. Where these are not enough, the mask means nothing yet,
  // and the next try begins with all that is known by then.
  enum class progress {
    done,
    some,  // more is known than before
    none,  // only a try with more steps gets further: what it took is not held against the text
  };
  result<progress> try_mask(std::span<std::uint32_t> mask, std::uint64_t most);
  // Goes on by one token. Errors: invalid_argument for a token that the mask does not have, and nothing has
  // changed; too_large.
  result<void> accept(token_id token);
  // Takes back the last n tokens. Errors: invalid_argument for more than were accepted, and nothing has
  // changed.
  result<void> rollback(std::size_t n);
  // What its masks may take, here and with further tokens. Who goes ahead with guesses and comes back, by
  // rollback(), sets this back, too: guesses cost a text nothing, nor do they use up what a place gives once.
  struct means {
    std::uint64_t steps = 0;
    std::size_t furthest = 0;  // that num_accepted() has ever been
    bool has_all = true;       // where the text is now: the tokens before have left everything
  };
  means means_left() const { return means_; }
  void set_back(const means& to) { means_ = to; }
  matcher fork() const { return *this; }
  // How many of `tokens`, from the first, could be accepted one after the other; the matcher stays. Errors:
  // too_large, past `most` steps too.
  result<std::size_t> count_accepted(std::span<const token_id> tokens, std::uint64_t most = no_bound);

  // The bytes that every text of the grammar goes on with from here, at most max_bytes.
  result<std::string> forced_bytes(std::size_t max_bytes = 1024);
  // Those bytes as the tokenizer spells them, without tokens at the end that could be spelled together with
  // what follows. Nothing has been accepted.
  result<std::vector<token_id>> forced_tokens(const tokenizer& tokenizer, std::size_t max_bytes = 1024);
  // The same with no more than about `most` steps; nothing where these are not enough, which is not held
  // against the text. Errors: as of fill_mask().
  result<std::optional<std::vector<token_id>>> try_forced_tokens(const tokenizer& tokenizer,
                                                                 std::uint64_t most,
                                                                 std::size_t max_bytes = 1024);

  // Whether the last call ended with too_large because of this text: another one of its grammar may well not.
  bool is_text_to_blame() const { return is_text_to_blame_; }
  bool is_terminated() const { return terminated_; }           // an end token was accepted
  result<bool> can_end();                                      // whether a text of the grammar ends here
  std::size_t num_accepted() const { return tokens_.size(); }  // tokens, an end token included
  token_id accepted(std::size_t i) const { return tokens_[i]; }
  std::uint64_t steps_left() const { return means_.steps; }  // that it may spend
  std::uint64_t steps_spent() const { return spent_; }       // by the last try of a mask or a forced text
  const compiled_grammar& grammar() const { return *grammar_; }

 private:
  // The automaton, with states_ up to date in it.
  result<compiled_grammar::access> enter();
  result<compiled_grammar::access> enter_to_guess();
  // `kept`: what a try that was not enough has spent for good.
  result<progress> try_within(std::span<std::uint32_t> mask, std::uint64_t most, std::uint64_t& kept);
  result<std::optional<std::vector<token_id>>> guess_within(const tokenizer& tokenizer, std::uint64_t most,
                                                            std::size_t max_bytes);
  std::uint64_t steps_to_guess() const {
    return means_.steps - std::min(means_.steps, grammar_->limits().max_mask_steps / 2);
  }
  result<std::vector<token_id>> forced_tokens(const compiled_grammar::access& machine,
                                              const tokenizer& tokenizer, std::size_t max_bytes);
  result<void> replay(const compiled_grammar::access& machine);
  result<bool> take(const compiled_grammar::access& machine, token_id token);
  result<void> mask_at(const compiled_grammar::access& machine, std::span<std::uint32_t> mask);
  // Of bytes that the automaton allows; no, or the names are those behind them.
  result<bool> take_names(const compiled_grammar::access& machine, std::string_view bytes);
  result<std::string> forced_text(const compiled_grammar::access& machine, std::size_t max_bytes,
                                  automaton::state_id& at);

  // What `use` gives, which enters: once more where the work of others has left no memory for it, since a
  // fresh automaton has all of it.
  template <class Use>
  std::invoke_result_t<Use> with_all_memory(Use&& use) {
    auto used = use();
    if (used || used.error().param != "max_memory_bytes" || has_fresh_automaton_) return used;
    return use();
  }
  result<bool> enter_and_take(token_id token);
  void refill();
  error of_text(std::string why);
  error blame(error why);

  compiled_grammar_ptr grammar_;
  means means_;
  std::uint64_t steps_at_entry_ = 0;  // of the call at hand
  std::uint64_t spent_ = 0;
  bool has_read_again_ = false;  // in the call at hand
  bool has_fresh_automaton_ = false;
  bool is_text_to_blame_ = false;
  bool goes_on_ = false;                     // with a mask that the last try has left half done
  std::uint64_t generation_ = 0;             // of the automaton whose states these are; 0: none
  std::vector<automaton::state_id> states_;  // before the first token, after each; an end token has none
  std::vector<token_id> tokens_;
  std::optional<json_names> names_;        // where they are kept apart
  std::vector<json_names::place> places_;  // then: before each token
  bool terminated_ = false;
};

}  // namespace troupe::grammar
