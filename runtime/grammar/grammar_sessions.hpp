// Where every running request stands in its grammar, and the masks of the steps that sample for them.
//
//   begin(step) -> fill_one() ... -> take() -> [the step samples] -> advance(result), or forget_steps()
//
// A step may begin while those before it still run: a mask waits for the tokens that the steps before sample
// for its request. Steps without such requests do not take part. A request whose drafts are verified has a
// mask for each of its samples, as if the drafts before it were right; those behind a draft that the grammar
// does not have are let through unmasked: what the sample before draws is never that draft.
//
// The masks of one step may take so much work together, as long as other requests wait for the step too. What
// is past that is withheld: the row samples nothing and is computed again by a later step. Until then
// prepare() goes on with the work, from what is known by then; who waited longest comes first. Nobody's
// tokens depend on that.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "runtime/grammar/mask_team.hpp"
#include "runtime/grammar/matcher.hpp"
#include "runtime/recycler.hpp"
#include "runtime/step_masks.hpp"
#include "runtime/tokenizer/tokenizer.hpp"

namespace troupe::grammar {

// One caller at a time. What belongs to a request that is not open (it has ended, and a step still holds its
// row) is let through unmasked: nobody reads the token.
class grammar_sessions {
 public:
  // With a tokenizer: where the grammar leaves no choice for several tokens, as it spells them, they are
  // forced on the request (step_masks::forced) and take no step each. Not for requests that want
  // log-probabilities: nobody computes those of a forced token.
  // `steps_a_step`: of work on the masks of one step, see above.
  explicit grammar_sessions(tokenizer_ptr spells_forced = nullptr,
                            std::uint64_t steps_a_step = matcher::no_bound)
      : spells_forced_(std::move(spells_forced)), steps_a_step_(steps_a_step) {}

  void open(request_id id, compiled_grammar_ptr grammar);
  // Unknown ids are ignored.
  void release(request_id id);
  std::size_t size() const { return sessions_.size(); }

  // How many of a draft's tokens, from the first, the request's grammar has behind the first `num_generated`
  // output tokens: what the matcher has taken in there is known, what follows it is tried. All of them where
  // the matcher is not so far, or cannot say; the masks will. Nothing has moved.
  std::size_t count_possible(request_id id, std::size_t num_generated, std::span<const token_id> draft);

  // Takes note of the step's masked samples; in the order of the steps.
  void begin(const step_batch& batch);
  // Fills one mask of the oldest step that is not taken yet. False: each that is left waits for a token.
  bool fill_one();
  // The same for all that wait for no token, those of different grammars at the same time; each(fill) calls
  // fill() once for each mask. Gives how many.
  using fill_wrapper = std::function<void(const std::function<void()>& fill)>;
  std::size_t fill_ready(mask_team& team, const fill_wrapper& each);
  // Works on the masks of requests whose rows were withheld, one after the other, as much as on the masks of
  // one step. Gives those whose rows are to be computed again: their masks are known, or nearly so, or they
  // end there.
  std::vector<request_id> prepare(std::span<const request_id> ids);
  // The masks of the oldest step, once all are filled; else null. A sample whose request cannot go on is
  // among the ends: with an error (a limit, or no token is allowed), or without one where the text is
  // complete and the vocabulary has no token to end it.
  step_masks_ptr take();
  // Masks that would have passed a limit since this was last asked for, with what it was. Only valid while
  // their requests are open.
  struct overrun {
    const compiled_grammar* grammar = nullptr;
    error why;
    bool is_of_text = false;  // of this one, by its length: another text of the grammar may be served
  };
  std::vector<overrun> take_overruns() { return std::exchange(overruns_, {}); }
  // What the oldest step that was taken has sampled; only once nobody reads its masks any more.
  void advance(const step_result& result);
  // The steps that were begun will sample nothing: their requests stand where they stood before them.
  void forget_steps();

 private:
  struct session {
    explicit session(compiled_grammar_ptr grammar) : place(std::move(grammar)) {}
    matcher place;
    std::optional<error> failure;      // of a token that was taken in
    std::size_t forced_from = 0;       // the newest run of forced tokens; a step that was begun before it was
    std::size_t forced_to = 0;         // known still samples for places within it
    std::uint64_t share = 1;           // times as much work as usual before it is withheld
    std::uint64_t times_withheld = 0;  // in a row
    std::uint64_t times_tried = 0;     // the mask, in vain
    bool may_force = true;
    std::optional<std::size_t> prepared_at = {};  // the place whose mask was known then
    // The place whose row was withheld, until it is computed again: steps planned before that is known go on
    // from a token that will not come.
    std::optional<std::size_t> withheld_at = {};
    bool is_over = false;  // no mask any more: its end is told
    bool has_forced(std::size_t place) const { return place >= forced_from && place < forced_to; }
  };
  static constexpr std::uint64_t unbound_share = ~std::uint64_t{0};
  static constexpr std::uint64_t rows_that_always_fit = 64;  // of what a step may take, each with its part
  static constexpr std::uint64_t most_tries = 8;  // with the same share: each leaves some work half done
  struct masked_row {
    request_id id = 0;
    std::size_t sample = 0;
    std::size_t num_generated = 0;
    bool wants_logprobs = false;
    std::vector<token_id> drafts = {};
  };
  struct masked_step {
    std::uint64_t step = 0;
    std::vector<masked_row> rows;
    std::shared_ptr<step_masks> masks;
    std::vector<masked_row> left;      // to be filled
    std::vector<masked_row> withheld;  // whole rows
    bool has_ready_rows = false;       // somebody would wait for masks that take long
    std::atomic<std::uint64_t> spent = 0;
  };
  struct sampling_step {
    std::uint64_t step = 0;
    std::vector<masked_row> rows;
  };

  // What a mask comes with.
  struct filled_row {
    std::optional<sample_end> end;
    std::optional<forced_tokens> forced;
    std::optional<overrun> past = {};
    std::optional<std::int32_t> withheld = {};
  };

  struct piece {
    session* who = nullptr;
    masked_row row;
    std::size_t grammar = 0;  // equal for equal grammars
    filled_row made = {};
  };

  session* find(request_id id);
  std::vector<piece> take_ready(masked_step& step);
  bool is_in_vain(const masked_row& row);
  static std::uint64_t times_withheld(const session* who) { return who == nullptr ? 0 : who->times_withheld; }
  void add(const masked_row& row, filled_row made, masked_step& step);
  void serve_one_at_least(masked_step& step);
  void withhold(const masked_row& row);
  bool prepare(session& who, masked_step& work);
  bool is_guess_known(session& who, masked_step& work);
  bool is_ready(const masked_row& row);
  static void accept(session& who, token_id token);
  std::uint64_t allowance(const session& who, const masked_step& step) const;
  bool is_whole_share(const session& who, std::uint64_t most) const {
    return most >= steps_a_step_ * who.share;
  }
  filled_row fill(session& who, const masked_row& row, masked_step& step);
  static void end(filled_row& made, std::size_t sample, matcher& place, error why, bool may_be_complete);
  void fill_drafts(session& who, const masked_row& row, masked_step& step, filled_row& made);
  result<bool> fill_mask(session& who, const masked_row& row, masked_step& step);
  result<bool> try_mask(session& who, std::size_t sample, masked_step& step);
  // What a try took, of `most` that it might.
  static void charge(masked_step& step, const matcher& place, std::uint64_t most, bool is_done) {
    step.spent += is_done ? place.steps_spent() : most;
  }
  // A try with so many steps was in vain. `is_further`: the next one begins with more than it did.
  void ask_for_more(session& who, std::uint64_t most, bool is_further);
  result<void> force(session& who, std::size_t sample, masked_step& step, filled_row& made);
  static void advance(session& who, const masked_row& row, const step_result& result);
  std::shared_ptr<step_masks> fresh_masks(std::uint64_t step, std::size_t num_samples);

  tokenizer_ptr spells_forced_;
  std::uint64_t steps_a_step_ = matcher::no_bound;
  std::unordered_map<request_id, session> sessions_;
  std::size_t num_words_ = 0, vocab_size_ = 0;  // of the last grammar opened
  std::deque<masked_step> begun_;
  std::deque<sampling_step> taken_;
  std::vector<overrun> overruns_;
  recycler<step_masks> masks_;
};

}  // namespace troupe::grammar
