#include "runtime/drafting/draft_sequence.hpp"

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
                               float hit_rate)
    : tokens_(prompt.begin(), prompt.end()),
      prompt_length_(static_cast<std::int32_t>(prompt.size())),
      num_known_(prompt_length_),
      sampling_(for_drafts(sampling)),
      drafted_after_(num_known_),
      hit_rate_(hit_rate) {}

void draft_sequence::append(std::span<const token_id> tokens, draft_experience& experience) {
  for (const token_id token : tokens) {
    if (num_known_ < num_tokens()) {
      const bool is_right = tokens_[static_cast<std::size_t>(num_known_)] == token;
      const auto place = static_cast<std::size_t>(num_known_ - drafted_after_);
      experience.estimates.observe(evidence_[place], is_right);
      follow(experience.hit_rate, is_right, 0.02F);
      follow(hit_rate_, is_right, 0.1F);
      has_been_scored_ = true;
      bias_.observe(estimates_[place], is_right);
      if (!is_right) {
        tokens_.resize(static_cast<std::size_t>(num_known_));
        num_stored_ = std::min(num_stored_, num_known_);
      }
    }
    if (num_known_ == num_tokens()) tokens_.push_back(token);
    ++num_known_;
  }
}

void draft_sequence::begin_draft() {
  tokens_.resize(static_cast<std::size_t>(num_known_));
  num_stored_ = std::min(num_stored_, std::max(num_known_ - 1, 0));
  drafted_after_ = num_known_;
  worth_ = 1.0;
  evidence_.clear();
  estimates_.clear();
  probabilities_.clear();
}

void draft_sequence::push_draft(token_id token, float model_probability,
                                const acceptance_estimates& estimates) {
  evidence_.push_back({draft_source::model, num_tokens(), model_probability, 1});
  estimates_.push_back(estimates.estimate(evidence_.back()));
  probabilities_.push_back(bias_.adjust(estimates_.back()));
  worth_ *= static_cast<double>(probabilities_.back());
  tokens_.push_back(token);
}

void draft_sequence::rest() {
  constexpr std::int32_t most = 4;
  const bool is_hopeless = ++num_rests_ > most && has_been_scored_;
  rest_until_ =
      is_hopeless ? std::numeric_limits<std::int32_t>::max() : num_known_ + (4 << std::min(num_rests_, most));
}

draft draft_sequence::take_draft(request_id id) const {
  return {id, num_known_, {tokens_.begin() + num_known_, tokens_.end()}, probabilities_};
}

// The last token of all is never verified: a step gives it anyway.
std::int32_t draft_sequence::most_drafts(std::int32_t most) const {
  most = std::min(most, sampling_->num_speculative_tokens.value_or(most));
  if (sampling_->max_tokens)
    most = std::min(most, *sampling_->max_tokens - (num_known_ - prompt_length_) - 1);
  return std::max(most, 0);
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
