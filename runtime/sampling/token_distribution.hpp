// What a row's token is drawn from, and the draw.
#pragma once
#include <cstddef>
#include <span>
#include <vector>

#include "runtime/request.hpp"

namespace troupe {

// The tokens that may be drawn, in ascending order, and weights in proportion to their probabilities: not
// negative, at most 1, multiples of 2^-33 (row_math.hpp: their sums are exact), not all 0. Points into a
// sampler_scratch or a kept_distribution.
struct token_distribution {
  std::span<const token_id> ids = {};  // one per weight; empty: weights[t] is token t's
  std::span<const float> weights = {};

  token_id id(std::size_t i) const { return ids.empty() ? static_cast<token_id>(i) : ids[i]; }
};

// A copy that outlives the scratch, without the tokens of weight 0: what is kept of a draft's distribution
// until the draft is verified.
struct kept_distribution {
  std::vector<token_id> ids = {};
  std::vector<float> weights = {};

  void assign(const token_distribution& distribution);
  token_distribution view() const { return {ids, weights}; }
};

// The first token whose cumulated weight, in token-id order, passes u in [0, 1) times all. Draft models draw
// with this too, with the u that the request has for the position.
token_id draw_token(const token_distribution& distribution, double u);

}  // namespace troupe
