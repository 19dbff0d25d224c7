#include "runtime/drafting/draft_sequence.hpp"

#include <cmath>
#include <limits>

namespace troupe {
namespace {

void follow(float& rate, bool is_right, float weight) { rate += weight * ((is_right ? 1.0F : 0.0F) - rate); }

std::shared_ptr<const sampling_params> for_drafts(const sampling_params& sampling) {
  auto made = std::make_shared<sampling_params>(sampling);
  made->logprobs = 0;
  made->prompt_logprobs.reset();
  made->stop.clear();
  made->grammar.reset();
  return made;
}

}  // namespace

draft_sequence::draft_sequence(std::span<const token_id> prompt, const sampling_params& sampling,
                               draft_verification how, float hit_rate)
    : tokens_(prompt.begin(), prompt.end()),
      prompt_length_(static_cast<std::int32_t>(prompt.size())),
      num_known_(prompt_length_),
      sampling_(for_drafts(sampling)),
      how_(how),
      drafted_after_(num_known_),
      hit_rate_(hit_rate) {}

// A token that nobody has accepted or rejected is equal to the one that came by chance alone.
bool draft_sequence::is_scored(std::int32_t position) const {
  return how_ == draft_verification::same_draw || (position >= verified_from_ && position < verified_until_);
}

void draft_sequence::score(bool is_right, draft_experience& experience) {
  const auto place = static_cast<std::size_t>(num_known_ - drafted_after_);
  experience.estimates.observe(evidence_[place], is_right);
  follow(experience.hit_rate, is_right, 0.02F);
  follow(hit_rate_, is_right, 0.1F);
  has_been_scored_ = true;
  bias_.observe(estimates_[place], is_right);
}

void draft_sequence::score_lead(bool is_right) { follow(lead_rate_, is_right, 0.1F); }

double draft_sequence::lead_worth() const {
  return how_ == draft_verification::rejection ? std::pow(static_cast<double>(lead_rate_), num_pending_)
                                               : 1.0;
}

void draft_sequence::begin_draft(std::uint64_t number) {
  tokens_.resize(static_cast<std::size_t>(num_known_));
  num_stored_ = std::min(num_stored_, std::max(num_known_ - 1, 0));
  drafted_after_ = num_known_;
  lead_ = num_pending_;
  verified_from_ = verified_until_ = 0;
  worth_ = 1.0;
  evidence_.clear();
  estimates_.clear();
  probabilities_.clear();
  if (how_ != draft_verification::rejection) return;
  // A step may still read the last one's.
  if (kept_.use_count() != 1) kept_ = std::make_shared<kept_draft>();
  kept_->number = number;
  kept_->after = num_known_;
  kept_->tokens.clear();
}

kept_distribution* draft_sequence::next_kept() {
  if (how_ != draft_verification::rejection) return nullptr;
  const auto place = static_cast<std::size_t>(num_drafted());
  if (kept_->distributions.size() <= place) kept_->distributions.resize(place + 1);
  kept_->distributions[place].ids.clear();
  return &kept_->distributions[place];
}

std::shared_ptr<const kept_draft> draft_sequence::begin_verification(std::uint64_t number,
                                                                     std::int32_t position,
                                                                     std::int32_t count) {
  if (!kept_ || number == 0 || kept_->number != number) return nullptr;
  const auto end = kept_->after + static_cast<std::int32_t>(kept_->tokens.size());
  if (position < kept_->after || position + count > end) return nullptr;
  if (verified_until_ == 0) verified_from_ = position;
  verified_until_ = std::max(verified_until_, position + count);
  return kept_;
}

void draft_sequence::push_draft(token_id token, float model_probability,
                                const acceptance_estimates& estimates) {
  evidence_.push_back({draft_source::model, num_tokens(), model_probability, 1});
  estimates_.push_back(estimates.estimate(evidence_.back()));
  probabilities_.push_back(bias_.adjust(estimates_.back()));
  worth_ *= static_cast<double>(probabilities_.back());
  tokens_.push_back(token);
  if (how_ == draft_verification::rejection) kept_->tokens.push_back(token);
}

void draft_sequence::rest() {
  constexpr std::int32_t most = 4;
  const bool is_hopeless = ++num_rests_ > most && has_been_scored_;
  rest_until_ =
      is_hopeless ? std::numeric_limits<std::int32_t>::max() : num_known_ + (4 << std::min(num_rests_, most));
}

draft draft_sequence::take_draft(request_id id) const {
  const std::uint64_t number = how_ == draft_verification::rejection ? kept_->number : 0;
  return {.id = id,
          .after = num_known_,
          .tokens = {tokens_.begin() + num_known_, tokens_.end()},
          .probabilities = probabilities_,
          .number = number,
          .lead = num_pending_};
}

// The last token of all is never verified: a step gives it anyway.
std::int32_t draft_sequence::most_drafts(std::int32_t most) const {
  most = std::min(most, sampling_->num_speculative_tokens.value_or(most));
  return std::max(std::min(most, most_left(most + num_pending_ + 1) - num_pending_ - 1), 0);
}

std::int32_t draft_sequence::most_left(std::int32_t most) const {
  if (sampling_->max_tokens) most = std::min(most, *sampling_->max_tokens - (num_known_ - prompt_length_));
  return most;
}

void draft_sequence::fill(sample_row& sample) const {
  sample.position = num_tokens();
  sample.num_generated = num_tokens() - prompt_length_;
  sample.sampling = sampling_;
  sample.prompt_length = prompt_length_;
  sample.history.clear();
  if (sampling_->needs_history()) sample.history = tokens_;
}

}  // namespace troupe
