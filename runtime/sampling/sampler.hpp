// Draws one token from a row of logits. A draw depends only on the logits, the parameters, the history and
// u(seed, position): never on the batch it stands in.
#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "runtime/sampling/verify_draft.hpp"
#include "runtime/step_batch.hpp"
#include "runtime/step_masks.hpp"

namespace troupe {

// Work space of one thread, reused between rows; no allocation once it has grown to the vocabulary.
struct sampler_scratch {
  std::vector<float> logits;
  std::vector<float> masked;
  std::vector<float> probabilities;
  std::vector<std::int32_t> counts;  // all 0 between rows
  std::vector<token_id> ids;
  std::vector<float> kept;
  std::vector<std::uint32_t> keys;
};

// `logits` [vocab] are read, not changed. `mask`, bits as in step_masks, is what a grammar allows; empty:
// all. `end_tokens` are banned while row.num_generated < min_tokens (so are stop_token_ids), unless the mask
// leaves nothing else. Order, as vLLM: the mask, log-probabilities of what it leaves, minimum length,
// logit bias, penalties, then greedy; or temperature, min-p, top-k, top-p and the inverse distribution
// function in token-id order. So log-probabilities under a mask are those of the allowed tokens among
// themselves.
// - Greedy (a temperature below 1e-5, or a top_p of 0) takes the lowest id among the greatest logits.
// - min-p keeps what has at least min_p times the greatest probability; top-k the k greatest, equal ones by
//   ascending id; top-p, of what is left, the shortest prefix of the order (probability descending, id
//   ascending) whose mass reaches top_p. Probabilities are multiples of 2^-33 of the greatest.
// - A NaN counts as minus infinity; a row that is all NaN or minus infinity gives token 0, or the first that
//   the mask allows.
// `draft`, where there is one, is a draft of this very token that rejection sampling verifies
// (verify_draft.hpp); it is accepted where it is the token that comes back. Its distribution must not lie in
// `scratch`. The token follows the same distribution with and without it.
sampled_token sample_token(std::span<const float> logits, const sample_row& row,
                           std::span<const token_id> end_tokens, sampler_scratch& scratch,
                           std::span<const std::uint32_t> mask = {}, const drafted_token* draft = nullptr);

// The same for a token that is to be such a draft: what it was drawn from is left in `kept`.
sampled_token sample_draft(std::span<const float> logits, const sample_row& row,
                           std::span<const token_id> end_tokens, sampler_scratch& scratch,
                           kept_distribution& kept);

// What sample_token() draws from: one token of weight 1 where nothing is left to chance. Lies in `scratch`,
// until its next use. A draft model's distribution is made by this too, from its own logits.
token_distribution compute_distribution(std::span<const float> logits, const sample_row& row,
                                        std::span<const token_id> end_tokens, sampler_scratch& scratch,
                                        std::span<const std::uint32_t> mask = {});

// The draw from `target`, with the random numbers of the row's seed and position.
token_id draw_sample(const token_distribution& target, const sample_row& row,
                     const drafted_token* draft = nullptr);

// Log-probability and rank of `token` and the `top` best, equal ones by ascending id. No full sort. Every
// value is finite: what would be below -9999, or not a number, is -9999.
token_logprobs log_probabilities(std::span<const float> logits, token_id token, std::int32_t top);

// Whether nothing is drawn: the most probable token is taken.
inline bool is_greedy(const sampling_params& params) {
  return params.temperature < 1e-5F || params.top_p <= 0.0F;
}

// Checks every field against its range, NaN and infinities included. Errors: invalid_argument with `param`.
struct sampling_limits {
  std::int32_t vocab_size = 0;
  std::int32_t max_logprobs = 20;
  std::size_t max_stop_strings = 16;
};
result<void> validate(const sampling_params& params, const sampling_limits& limits);

}  // namespace troupe
