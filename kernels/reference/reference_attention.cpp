#include "kernels/reference/reference_attention.hpp"

#include <cmath>

#include "kernels/half.hpp"
#include "kernels/reference/exponential.hpp"

namespace troupe::kernels::reference {
namespace {

std::uint16_t finite_half(float value) {
  value = value > -65504.0F ? value : -65504.0F;
  value = value < 65504.0F ? value : 65504.0F;
  return f32_to_f16(value);
}

void attend_one(attend_arguments& arguments, std::int32_t query) {
  const auto dim = static_cast<std::size_t>(arguments.head_dim);
  const auto limit = static_cast<std::size_t>(arguments.limits[query]);
  const float* q = arguments.queries[query];
  float* scores = arguments.scores + static_cast<std::size_t>(query) * stretch_tokens;
  float maximum = -3.402823466e+38F;
  for (std::size_t t = 0; t < limit; ++t) {
    const std::uint16_t* key = arguments.tiles[t / tile_tokens] + t % tile_tokens;
    float score = 0;
    for (std::size_t d = 0; d < dim; ++d) score = std::fma(q[d], f16_to_f32(key[d * tile_tokens]), score);
    scores[t] = score;
    maximum = score > maximum ? score : maximum;
  }
  float lanes[16] = {};
  for (std::size_t t = 0; t < limit; ++t) {
    scores[t] = exponential(scores[t] - maximum);
    lanes[t % 16] += scores[t];
  }
  arguments.maxima[query] = maximum;
  arguments.sums[query] = fold_sum(lanes);
  for (std::size_t d = 0; d < dim; ++d) {
    float sum = 0;
    for (std::size_t t = 0; t < limit; ++t) {
      const std::uint16_t* values = arguments.tiles[t / tile_tokens] + tile_tokens * dim;
      sum = std::fma(scores[t], f16_to_f32(values[t % tile_tokens * dim + d]), sum);
    }
    arguments.outputs[query][d] = sum;
  }
}

}  // namespace

void store_kv(const float* key, const float* value, std::int32_t head_dim, std::int32_t token,
              std::uint16_t* tile) {
  std::uint16_t* values = tile + static_cast<std::ptrdiff_t>(tile_tokens + token) * head_dim;
  for (std::int32_t d = 0; d < head_dim; ++d) {
    tile[d * tile_tokens + token] = finite_half(key[d]);
    values[d] = finite_half(value[d]);
  }
}

void attend(attend_arguments& arguments) {
  for (std::int32_t query = 0; query < arguments.num_queries; ++query) attend_one(arguments, query);
}

void merge(attention_state& state, float maximum, float sum, const float* output, std::int32_t head_dim) {
  const float highest = state.maximum > maximum ? state.maximum : maximum;
  const float keep = exponential(state.maximum - highest);
  const float take = exponential(maximum - highest);
  state.sum = std::fma(state.sum, keep, sum * take);
  state.maximum = highest;
  for (std::int32_t d = 0; d < head_dim; ++d)
    state.output[d] = std::fma(state.output[d], keep, output[d] * take);
}

void finish(const attention_state& state, std::int32_t head_dim, float* out) {
  const float inverse = 1.0F / state.sum;
  for (std::int32_t d = 0; d < head_dim; ++d) out[d] = state.output[d] * inverse;
}

}  // namespace troupe::kernels::reference
