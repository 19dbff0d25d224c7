#include "runtime/sampling/token_distribution.hpp"

#include "runtime/sampling/row_math.hpp"

namespace troupe {

void kept_distribution::assign(const token_distribution& distribution) {
  ids.clear();
  weights.clear();
  for (std::size_t i = 0; i < distribution.weights.size(); ++i) {
    if (distribution.weights[i] == 0.0F) continue;
    ids.push_back(distribution.id(i));
    weights.push_back(distribution.weights[i]);
  }
}

token_id draw_token(const token_distribution& distribution, double u) {
  return distribution.id(invert_distribution(distribution.weights, u));
}

}  // namespace troupe
