// Rejection sampling of a draft: the token that it gives follows the target's distribution, whatever the
// draft was drawn from. Leviathan, Kalman, Matias, "Fast inference from transformers via speculative
// decoding", ICML 2023, algorithm 1; Chen et al., "Accelerating large language model decoding with
// speculative sampling", 2023, algorithm 2.
#pragma once
#include "runtime/sampling/token_distribution.hpp"

namespace troupe {

struct drafted_token {
  token_id token = 0;
  token_distribution distribution = {};  // what it was drawn from; without a choice, that token alone
};

// With the probabilities p of the target and q of the draft: the draft's token where u_accept < p / q of it,
// else a token drawn from max(0, p - q), normalised, in token-id order. So a rejected draft never comes back:
// it is accepted exactly where it is the token returned.
//
// Computed in integers, without rounding, for at most 2^20 weights and for u_accept, u_residual in [0, 1)
// that are independent multiples of 2^-53, as uniform() gives them. Hence a draft is always accepted where q
// <= p, never where p is 0, and whatever is returned has p > 0: even for a draft that q does not hold, though
// then it follows no distribution in particular.
token_id verify_draft(const token_distribution& target, const drafted_token& draft, double u_accept,
                      double u_residual);

}  // namespace troupe
