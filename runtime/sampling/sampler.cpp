#include "runtime/sampling/sampler.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "runtime/sampling/logits_processors.hpp"
#include "runtime/sampling/philox.hpp"
#include "runtime/sampling/row_math.hpp"
#include "runtime/sampling/truncation.hpp"

namespace troupe {

namespace {

token_id draw(std::span<const float> logits, const sampling_params& params, double u,
              sampler_scratch& scratch) {
  const float max = row_max(logits);
  if (max == -std::numeric_limits<float>::infinity()) return 0;

  const bool has_top_k = params.top_k > 0 && static_cast<std::size_t>(params.top_k) < logits.size();
  if (has_top_k) {
    select_top_k(logits, static_cast<std::size_t>(params.top_k), scratch.ids, scratch.kept, scratch.keys);
    logits = scratch.kept;
  }

  scratch.probabilities.resize(logits.size());
  const std::span<float> weights = scratch.probabilities;
  weigh(logits, max, 1.0F / params.temperature, weights.data());
  if (params.min_p > 0.0F) {
    for (float& weight : weights) weight = weight < params.min_p ? 0.0F : weight;
  }
  if (params.top_p < 1.0F) keep_top_p(weights, static_cast<double>(params.top_p), scratch.keys);

  const std::size_t index = invert_distribution(weights, u);
  return has_top_k ? scratch.ids[index] : static_cast<token_id>(index);
}

}  // namespace

sampled_token sample_token(std::span<const float> logits, const sample_row& row,
                           std::span<const token_id> end_tokens, sampler_scratch& scratch,
                           std::span<const std::uint32_t> mask) {
  const sampling_params& params = *row.sampling;
  if (!mask.empty()) {
    scratch.masked.resize(logits.size());
    mask_row(logits, mask, scratch.masked.data());
    logits = scratch.masked;
  }
  const std::span<const float> processed = process_logits(logits, row, end_tokens, !mask.empty(), scratch);
  sampled_token sampled;
  sampled.token =
      is_greedy(params)
          ? arg_max(processed)
          : draw(processed, params, uniform(params.seed, static_cast<std::uint64_t>(row.position)), scratch);
  if (!mask.empty() && !has_token(mask, sampled.token)) sampled.token = next_allowed(mask, 0);
  if (params.logprobs) sampled.logprobs = log_probabilities(logits, sampled.token, *params.logprobs);
  return sampled;
}

}  // namespace troupe
