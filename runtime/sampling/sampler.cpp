#include "runtime/sampling/sampler.hpp"

#include <array>
#include <cstddef>
#include <limits>

#include "runtime/sampling/logits_processors.hpp"
#include "runtime/sampling/philox.hpp"
#include "runtime/sampling/row_math.hpp"
#include "runtime/sampling/truncation.hpp"

namespace troupe {

namespace {

token_distribution one_hot(token_id token, std::span<const std::uint32_t> mask, sampler_scratch& scratch) {
  static constexpr std::array<float, 1> certain{1.0F};
  const bool is_allowed = mask.empty() || has_token(mask, token);
  scratch.ids.assign(1, is_allowed ? token : next_allowed(mask, 0));
  return {scratch.ids, certain};
}

// `max` is the greatest of the logits.
token_distribution truncate(std::span<const float> logits, float max, const sampling_params& params,
                            std::span<const std::uint32_t> mask, sampler_scratch& scratch) {
  const bool has_top_k = params.top_k > 0 && static_cast<std::size_t>(params.top_k) < logits.size();
  if (has_top_k) {
    select_top_k(logits, static_cast<std::size_t>(params.top_k), scratch.ids, scratch.kept, scratch.keys);
    logits = scratch.kept;
    mask = {};
  }

  scratch.probabilities.resize(logits.size());
  const std::span<float> weights = scratch.probabilities;
  weigh(logits, max, 1.0F / params.temperature, weights.data(), mask);
  if (const float min_p = params.min_p; min_p > 0.0F) {
    for (float& weight : weights) weight = weight < min_p ? 0.0F : weight;
  }
  if (params.top_p < 1.0F) keep_top_p(weights, static_cast<double>(params.top_p), scratch.kept, scratch.keys);
  return {has_top_k ? std::span<const token_id>(scratch.ids) : std::span<const token_id>(), weights};
}

}  // namespace

token_distribution compute_distribution(std::span<const float> logits, const sample_row& row,
                                        std::span<const token_id> end_tokens, sampler_scratch& scratch,
                                        std::span<const std::uint32_t> mask) {
  if (!mask.empty()) {
    scratch.masked.resize(logits.size());
    mask_row(logits, mask, scratch.masked.data());
    logits = scratch.masked;
  }
  const std::span<const float> processed = process_logits(logits, row, end_tokens, !mask.empty(), scratch);
  if (is_greedy(*row.sampling)) return one_hot(arg_max(processed), mask, scratch);
  const float max = row_max(processed);
  if (max == -std::numeric_limits<float>::infinity()) return one_hot(0, mask, scratch);
  return truncate(processed, max, *row.sampling, mask, scratch);
}

token_id draw_sample(const token_distribution& target, const sample_row& row, const drafted_token* draft) {
  const std::uint64_t seed = row.sampling->seed;
  const auto position = static_cast<std::uint64_t>(row.position);
  if (draft == nullptr) return draw_token(target, uniform(seed, position));
  return verify_draft(target, *draft, uniform(seed, position, random_stream::accept),
                      uniform(seed, position, random_stream::residual));
}

sampled_token sample_token(std::span<const float> logits, const sample_row& row,
                           std::span<const token_id> end_tokens, sampler_scratch& scratch,
                           std::span<const std::uint32_t> mask, const drafted_token* draft) {
  sampled_token sampled;
  sampled.token = draw_sample(compute_distribution(logits, row, end_tokens, scratch, mask), row, draft);
  if (row.sampling->logprobs) {
    const std::span<const float> allowed = mask.empty() ? logits : std::span<const float>(scratch.masked);
    sampled.logprobs = log_probabilities(allowed, sampled.token, *row.sampling->logprobs);
  }
  return sampled;
}

sampled_token sample_draft(std::span<const float> logits, const sample_row& row,
                           std::span<const token_id> end_tokens, sampler_scratch& scratch,
                           kept_distribution& kept) {
  const token_distribution drawn_from = compute_distribution(logits, row, end_tokens, scratch);
  kept.assign(drawn_from);
  sampled_token sampled;
  sampled.token = draw_sample(drawn_from, row);
  if (row.sampling->logprobs)
    sampled.logprobs = log_probabilities(logits, sampled.token, *row.sampling->logprobs);
  return sampled;
}

}  // namespace troupe
