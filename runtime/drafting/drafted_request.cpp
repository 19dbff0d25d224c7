#include "runtime/drafting/drafted_request.hpp"

#include <algorithm>

namespace troupe {

double proposal::expected_accepted(std::int32_t lead) const {
  double sum = 0.0;
  double product = 1.0;
  for (const float probability : probabilities) {
    product *= static_cast<double>(probability);
    if (lead-- <= 0) sum += product;
  }
  return sum;
}

std::size_t proposal::bytes() const {
  return sizeof(proposal) + tokens.capacity() * sizeof(token_id) +
         evidence.capacity() * sizeof(token_evidence) +
         (estimates.capacity() + probabilities.capacity()) * sizeof(float);
}

drafted_request::drafted_request(const speculative_config& config, std::uint64_t hash_seed,
                                 std::span<const token_id> prompt)
    : tokens_(prompt.begin(), prompt.end()), num_prompt_(prompt.size()) {
  if (config.method == speculative_method::ngram)
    lookup_.emplace(config.prompt_lookup_min, config.prompt_lookup_max, hash_seed);
  if (config.method == speculative_method::suffix)
    tree_.emplace(config.suffix_decoding_max_tree_depth, hash_seed);
}

void drafted_request::append(std::span<const token_id> tokens, acceptance_estimates& estimates) {
  for (std::size_t i = 0; i < num_proposals_; ++i) score(proposals_[i], tokens, estimates);
  tokens_.insert(tokens_.end(), tokens.begin(), tokens.end());
}

// Compares it with the tokens that come now. What was compared before was right: one that was wrong is known
// by the sequence, which differs from it.
void drafted_request::score(const proposal& made, std::span<const token_id> tokens,
                            acceptance_estimates& estimates) {
  const std::size_t known = tokens_.size() - proposed_after_;
  if (known > made.tokens.size()) return;
  if (!std::equal(made.tokens.begin(), made.tokens.begin() + static_cast<std::ptrdiff_t>(known),
                  tokens_.end() - static_cast<std::ptrdiff_t>(known)))
    return;
  acceptance_bias& bias = made.source == draft_source::request ? bias_of_request_ : bias_of_tenant_;
  for (std::size_t i = 0; i < tokens.size() && known + i < made.tokens.size(); ++i) {
    const bool is_right = made.tokens[known + i] == tokens[i];
    estimates.observe(made.evidence[known + i], is_right);
    if (made.is_longest_match) bias.observe(made.estimates[known + i], is_right);
    if (!is_right) return;
  }
}

bool drafted_request::index(std::size_t most) {
  const auto next = std::span(tokens_).subspan(num_indexed_, std::min(most, num_unindexed()));
  if (lookup_) lookup_->append(next);
  if (tree_) tree_->append(next);
  num_indexed_ += next.size();
  return num_unindexed() > 0;
}

std::span<const token_id> drafted_request::context(std::size_t most) const {
  return std::span(tokens_).last(std::min(most, tokens_.size()));
}

void drafted_request::propose(const suffix_continuation& continuation, draft_source source,
                              bool is_longest_match, const acceptance_estimates& estimates) {
  if (continuation.tokens.empty() || num_proposals_ == most_proposals) return;
  proposed_after_ = tokens_.size();
  if (num_proposals_ == proposals_.size()) proposals_.emplace_back();
  proposal& made = proposals_[num_proposals_++];
  made.source = source;
  made.is_longest_match = is_longest_match;
  made.tokens = continuation.tokens;
  made.evidence.clear();
  made.estimates.clear();
  made.probabilities.clear();
  const acceptance_bias& bias = source == draft_source::request ? bias_of_request_ : bias_of_tenant_;
  for (std::size_t i = 0; i < made.tokens.size(); ++i) {
    made.evidence.push_back({source, continuation.match_length + static_cast<std::int32_t>(i),
                             continuation.probabilities[i], continuation.counts[i]});
    made.estimates.push_back(estimates.estimate(made.evidence.back()));
    made.probabilities.push_back(bias.adjust(made.estimates.back()));
  }
}

const proposal* drafted_request::best_proposal(std::int32_t lead) const {
  const proposal* best = nullptr;
  double most = 0.0;
  for (std::size_t i = 0; i < num_proposals_; ++i) {
    const double expected = proposals_[i].expected_accepted(lead);
    if (expected <= most) continue;
    best = &proposals_[i];
    most = expected;
  }
  return best;
}

std::size_t drafted_request::bytes() const {
  std::size_t sum = tokens_.capacity() * sizeof(token_id);
  for (const proposal& made : proposals_) sum += made.bytes();
  return sum + (lookup_ ? lookup_->bytes() : 0) + (tree_ ? tree_->bytes() : 0);
}

}  // namespace troupe
