// One request as a draft model sees it: the tokens that are known and those that it has drafted behind them,
// and for how many of these its KV holds K and V.
#pragma once
#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "runtime/drafting/acceptance.hpp"
#include "runtime/drafting/draft.hpp"
#include "runtime/drafting/kept_draft.hpp"
#include "runtime/drafting/verification_choice.hpp"
#include "runtime/request.hpp"
#include "runtime/step_batch.hpp"

namespace troupe {

// What is known of all requests that sample alike, greedily or not, and are verified alike.
struct draft_experience {
  acceptance_estimates estimates = {};
  float hit_rate = 0.8F;  // of drafted tokens behind right ones, the newest counting most
};

class draft_sequence {
 public:
  draft_sequence(std::span<const token_id> prompt, const sampling_params& sampling, draft_verification how,
                 float hit_rate);

  // Tokens that it has generated. What is stored of drafts that were right stays good; the rest is dropped.
  // Calls scored(is_right) for each draft of which it is known now.
  template <class Scored>
  void append(std::span<const token_id> tokens, draft_experience& experience, Scored scored);

  // Forgets earlier drafts. The last known token is computed (again), since what follows it is to be drawn.
  // `number` is the new one's; no other draft has it.
  void begin_draft(std::uint64_t number);
  void push_draft(token_id token, float model_probability, const acceptance_estimates& estimates);
  // How probable it is that the next token to be drafted, and all drafted before it, are right.
  double next_worth() const { return worth_ * hit_rate(); }
  double hit_rate() const { return static_cast<double>(hit_rate_); }
  // That what leads up to a draft that is accepted or rejected by chance is right, as often as it was lately:
  // else nobody verifies the draft.
  double lead_worth() const;
  draft_verification verification() const { return how_; }
  // Where what the next token to be drafted is drawn from is kept; null: it is not needed.
  kept_distribution* next_kept();
  // The distributions of draft `number`, of which a step accepts or rejects `count` tokens from this position
  // on; null where they are gone. Tokens that no step accepts or rejects say nothing about how often they are
  // right.
  std::shared_ptr<const kept_draft> begin_verification(std::uint64_t number, std::int32_t position,
                                                       std::int32_t count);
  // What has been drafted since begin_draft().
  draft take_draft(request_id id) const;

  std::int32_t num_known() const { return num_known_; }
  std::int32_t num_tokens() const { return static_cast<std::int32_t>(tokens_.size()); }  // drafts included
  std::int32_t num_drafted() const { return num_tokens() - num_known_; }
  // So many tokens behind the known ones are sampled already, but not known: what is drafted in their places
  // is never verified. Of the next draft.
  void set_pending(std::int32_t count) { num_pending_ = count; }
  std::int32_t num_pending() const { return num_pending_; }
  std::int32_t num_to_verify() const { return std::max(num_drafted() - num_pending_, 0); }
  std::int32_t num_stored() const { return num_stored_; }
  std::int32_t num_missing() const { return num_tokens() - num_stored_; }
  token_id token(std::int32_t i) const { return tokens_[static_cast<std::size_t>(i)]; }
  const sampling_params& sampling() const { return *sampling_; }
  // The next `count` tokens have been stored.
  void stored(std::int32_t count) { num_stored_ += count; }
  // Nothing is stored any more.
  void forget_stored() { num_stored_ = 0; }
  // How many drafts could be verified, at most `most`.
  std::int32_t most_drafts(std::int32_t most) const;
  // Tokens that may still come, at most `most`.
  std::int32_t most_left(std::int32_t most) const;
  // The draw of the token behind the last one, as the request itself would make it.
  void fill(sample_row& sample) const;

  // Where drafting does not pay: not before 8 further tokens have come, then 16, ... 64; after that never
  // where drafts were made and did not pay.
  bool is_resting() const { return num_known_ < rest_until_; }
  void rest();
  void wake() { num_rests_ = 0; }
  bool has_rested() const { return num_rests_ > 0; }
  bool has_been_scored() const { return has_been_scored_; }

  std::vector<std::int32_t> blocks = {};  // its block table
  std::uint64_t last_use = 0;

 private:
  bool is_scored(std::int32_t position) const;
  bool is_lead(std::int32_t position) const { return position < drafted_after_ + lead_; }
  void score_lead(bool is_right);
  // One draft more was right or wrong, the one at num_known_.
  void score(bool is_right, draft_experience& experience);

  std::vector<token_id> tokens_;
  std::int32_t prompt_length_ = 0;
  std::int32_t num_known_ = 0;
  std::int32_t num_stored_ = 0;
  std::shared_ptr<const sampling_params> sampling_;  // the request's, with log-probabilities
  draft_verification how_;
  std::shared_ptr<kept_draft> kept_;  // null unless drafts are accepted or rejected by chance
  std::int32_t num_pending_ = 0;
  std::int32_t lead_ = 0;            // num_pending() of the draft at hand
  float lead_rate_ = 1.0F;           // of tokens that led up to a draft, the newest counting most
  std::int32_t verified_from_ = 0;   // positions of drafts that steps accept or reject: from here ...
  std::int32_t verified_until_ = 0;  // ... to before this
  // Of the drafts since begin_draft().
  std::int32_t drafted_after_ = 0;
  std::vector<token_evidence> evidence_;
  std::vector<float> estimates_;
  std::vector<float> probabilities_;
  acceptance_bias bias_;
  double worth_ = 1.0;  // product of the probabilities
  float hit_rate_;
  bool has_been_scored_ = false;
  std::int32_t rest_until_ = 0;
  std::int32_t num_rests_ = 0;
};

template <class Scored>
void draft_sequence::append(std::span<const token_id> tokens, draft_experience& experience, Scored scored) {
  for (const token_id token : tokens) {
    if (num_known_ < num_tokens()) {
      const bool is_right = tokens_[static_cast<std::size_t>(num_known_)] == token;
      if (is_scored(num_known_)) {
        score(is_right, experience);
        scored(is_right);
      } else if (is_lead(num_known_)) {
        score_lead(is_right);
      }
      if (!is_right) {
        tokens_.resize(static_cast<std::size_t>(num_known_));
        num_stored_ = std::min(num_stored_, num_known_);
      }
    }
    if (num_known_ == num_tokens()) tokens_.push_back(token);
    ++num_known_;
  }
}

}  // namespace troupe
