#include "runtime/sampling/logits_processors.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

#include "runtime/sampling/row_math.hpp"

namespace troupe {

namespace {

bool inside(token_id id, std::span<const float> logits) {
  return id >= 0 && static_cast<std::size_t>(id) < logits.size();
}

void add_bias(std::span<float> logits, const sampling_params& params) {
  for (const auto& [id, bias] : params.logit_bias) {
    if (inside(id, logits)) logits[static_cast<std::size_t>(id)] += bias;
  }
}

void ban(std::span<float> logits, std::span<const token_id> ids) {
  for (const token_id id : ids) {
    if (inside(id, logits)) logits[static_cast<std::size_t>(id)] = -std::numeric_limits<float>::infinity();
  }
}

// Divides what is positive, multiplies what is negative, once per token of prompt and output (Keskar et al.,
// "CTRL: a conditional transformer language model for controllable generation", 2019, section 4.1).
void penalize_repetition(std::span<float> logits, std::span<const token_id> history, float penalty,
                         std::vector<std::int32_t>& seen) {
  for (const token_id id : history) {
    if (!inside(id, logits) || seen[static_cast<std::size_t>(id)]++ > 0) continue;
    float& logit = logits[static_cast<std::size_t>(id)];
    logit = logit > 0.0F ? logit / penalty : logit * penalty;
  }
  for (const token_id id : history) {
    if (inside(id, logits)) seen[static_cast<std::size_t>(id)] = 0;
  }
}

// OpenAI's penalties: for each token of the output, count * frequency + presence.
void penalize_output(std::span<float> logits, std::span<const token_id> output, const sampling_params& params,
                     std::vector<std::int32_t>& counts) {
  for (const token_id id : output) {
    if (inside(id, logits)) ++counts[static_cast<std::size_t>(id)];
  }
  for (const token_id id : output) {
    if (!inside(id, logits)) continue;
    std::int32_t& count = counts[static_cast<std::size_t>(id)];
    if (count == 0) continue;
    logits[static_cast<std::size_t>(id)] -=
        params.frequency_penalty * static_cast<float>(count) + params.presence_penalty;
    count = 0;
  }
}

void penalize(std::span<float> logits, const sample_row& row, std::vector<std::int32_t>& counts) {
  const sampling_params& params = *row.sampling;
  const std::span<const token_id> history = row.history;
  counts.resize(logits.size());  // all 0 between calls
  if (params.repetition_penalty != 1.0F)
    penalize_repetition(logits, history, params.repetition_penalty, counts);
  if (params.frequency_penalty != 0.0F || params.presence_penalty != 0.0F) {
    const auto prompt = std::min(history.size(), static_cast<std::size_t>(row.prompt_length));
    penalize_output(logits, history.subspan(prompt), params, counts);
  }
}

}  // namespace

std::span<const float> process_logits(std::span<const float> logits, const sample_row& row,
                                      std::span<const token_id> end_tokens, bool is_masked,
                                      sampler_scratch& scratch) {
  const sampling_params& params = *row.sampling;
  const bool too_short = row.num_generated < params.min_tokens;
  if (!too_short && params.logit_bias.empty() && !params.needs_history()) return logits;
  scratch.logits.assign(logits.begin(), logits.end());
  if (too_short) {
    ban(scratch.logits, end_tokens);
    ban(scratch.logits, params.stop_token_ids);
    if (is_masked && row_max(scratch.logits) == -std::numeric_limits<float>::infinity())
      scratch.logits.assign(logits.begin(), logits.end());
  }
  add_bias(scratch.logits, params);
  if (params.needs_history()) penalize(scratch.logits, row, scratch.counts);
  return scratch.logits;
}

}  // namespace troupe
