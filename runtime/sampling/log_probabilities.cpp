#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>

#include "runtime/sampling/row_math.hpp"
#include "runtime/sampling/sampler.hpp"

namespace troupe {

namespace {

constexpr float minus_infinity = -std::numeric_limits<float>::infinity();

float or_minus_infinity(float logit) { return logit == logit ? logit : minus_infinity; }

// The `count` greatest, best first, equal ones by ascending id. Expected O(vocab): few values beat the worst
// kept.
std::vector<std::pair<token_id, float>> greatest(std::span<const float> logits, std::size_t count) {
  constexpr std::size_t block = 64;
  std::vector<std::pair<token_id, float>> best;
  if (count == 0) return best;
  best.reserve(count + 1);
  const auto before = [](float logit, const std::pair<token_id, float>& entry) {
    return logit > entry.second;
  };
  for (std::size_t begin = 0; begin < logits.size(); begin += block) {
    const std::size_t end = std::min(begin + block, logits.size());
    if (best.size() == count && row_max(logits.subspan(begin, end - begin)) <= best.back().second) continue;
    for (std::size_t i = begin; i < end; ++i) {
      const float logit = or_minus_infinity(logits[i]);
      if (best.size() == count && logit <= best.back().second) continue;
      best.insert(std::upper_bound(best.begin(), best.end(), logit, before),
                  {static_cast<token_id>(i), logit});
      if (best.size() > count) best.pop_back();
    }
  }
  return best;
}

std::int32_t count_if_greater(std::span<const float> logits, float own) {
  std::int32_t count = 0;
  for (const float logit : logits) count += logit > own ? 1 : 0;
  return count;
}

std::int32_t rank_of(std::span<const float> logits, std::size_t token) {
  const float own = or_minus_infinity(logits[token]);
  std::int32_t equal_before = 0;
  for (const float logit : logits.first(token)) equal_before += or_minus_infinity(logit) == own ? 1 : 0;
  return 1 + count_if_greater(logits, own) + equal_before;
}

}  // namespace

token_logprobs log_probabilities(std::span<const float> logits, token_id token, std::int32_t top) {
  constexpr double lowest = -9999.0;
  const float max = row_max(logits);
  const double log_sum = std::isfinite(max) ? log_sum_exp(logits, max) : 0.0;
  const auto logprob = [&](float logit) {
    const double value = (static_cast<double>(logit) - static_cast<double>(max)) - log_sum;
    return static_cast<float>(value >= lowest ? value : lowest);
  };

  token_logprobs found;
  found.token = token;
  const auto index = static_cast<std::size_t>(token);
  if (token < 0 || index >= logits.size()) {
    found.logprob = static_cast<float>(lowest);
    return found;
  }
  found.logprob = logprob(logits[index]);
  found.rank = rank_of(logits, index);
  const auto count = std::min(static_cast<std::size_t>(std::max(top, 0)), logits.size());
  found.top = greatest(logits, count);
  for (auto& [id, value] : found.top) value = logprob(value);
  return found;
}

}  // namespace troupe
