#include "runtime/sampling/token_distribution.hpp"

#include <algorithm>

#include "runtime/sampling/row_math.hpp"

namespace troupe {

void kept_distribution::assign(const token_distribution& distribution) {
  ids.clear();
  weights.clear();
  const auto count =
      distribution.weights.size() - static_cast<std::size_t>(std::ranges::count(distribution.weights, 0.0F));
  ids.reserve(count);  // no more: there may be many of these
  weights.reserve(count);
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
