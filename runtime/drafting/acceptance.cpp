#include "runtime/drafting/acceptance.hpp"

#include <algorithm>
#include <bit>
#include <cmath>

namespace troupe {
namespace {

constexpr float memory = 512.0F;      // observations of a class that count
constexpr float prior_weight = 8.0F;  // observations that the first guess is worth
constexpr float first_rate = 1.0F;    // of the bias, for a sequence's first tokens
constexpr float last_rate = 0.2F;
constexpr float strongest = 4.0F;  // log-odds

// Of a class never seen: longer matches mean more, and less is said than the counts say.
float first_guess(const token_evidence& evidence) {
  const auto length = static_cast<float>(std::max(evidence.match_length, 0));
  return 0.9F * evidence.probability * (length + 0.5F) / (length + 3.0F);
}

}  // namespace

std::size_t acceptance_estimates::class_of(const token_evidence& evidence) {
  const auto tokens = static_cast<std::uint32_t>(std::max(evidence.match_length, 1));
  // 1, 2, 3-4, 5-8, 9-16, 17-32, more
  const std::size_t length = std::min<std::size_t>(std::bit_width(tokens - 1), num_lengths - 1);
  const float share = evidence.probability;
  const std::size_t probability = share >= 1.0F   ? 4
                                  : share >= 0.8F ? 3
                                  : share >= 0.5F ? 2
                                  : share >= 0.3F ? 1
                                                  : 0;
  const std::size_t count = evidence.count <= 1 ? 0 : evidence.count <= 3 ? 1 : 2;
  const auto source = static_cast<std::size_t>(evidence.source);
  return ((source * num_lengths + length) * num_probabilities + probability) * num_counts + count;
}

float acceptance_estimates::estimate(const token_evidence& evidence) const {
  const observations& seen = classes_[class_of(evidence)];
  const float guess = std::clamp(first_guess(evidence), 0.0F, 1.0F);
  const float share = (seen.right + prior_weight * guess) / (seen.all + prior_weight);
  return std::clamp(share, 0.001F, 0.999F);
}

void acceptance_estimates::observe(const token_evidence& evidence, bool is_right) {
  observations& seen = classes_[class_of(evidence)];
  if (seen.all >= memory) {
    seen.right *= (memory - 1.0F) / seen.all;
    seen.all = memory - 1.0F;
  }
  seen.all += 1.0F;
  if (is_right) seen.right += 1.0F;
}

float acceptance_bias::adjust(float estimate) const {
  return 1.0F / (1.0F + (1.0F / estimate - 1.0F) * std::exp(-log_odds_));
}

void acceptance_bias::observe(float estimate, bool is_right) {
  const float rate = std::max(last_rate, first_rate / (1.0F + observed_ / 8.0F));
  observed_ = std::min(observed_ + 1.0F, 1024.0F);
  log_odds_ += rate * ((is_right ? 1.0F : 0.0F) - adjust(estimate));
  log_odds_ = std::clamp(log_odds_, -strongest, strongest);
}

}  // namespace troupe
