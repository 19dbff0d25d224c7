#include "kernels/reference/reference_attention.hpp"

#include <cmath>

#include "kernels/half.hpp"
#include "kernels/reference/exponential.hpp"

namespace troupe::kernels::reference {
namespace {

const std::uint16_t* halves(const std::byte* tile) { return reinterpret_cast<const std::uint16_t*>(tile); }

void attend_one(attend_arguments& arguments, std::int32_t query) {
  const auto dim = static_cast<std::size_t>(arguments.head_dim);
  const auto limit = static_cast<std::size_t>(arguments.limits[query]);
  const float* q = arguments.queries[query];
  float* scores = arguments.scores + static_cast<std::size_t>(query) * stretch_tokens;
  for (std::size_t t = 0; t < limit; ++t) {
    const std::uint16_t* key = halves(arguments.tiles[t / tile_tokens]) + t % tile_tokens;
    float score = 0;
    for (std::size_t d = 0; d < dim; ++d) score = std::fma(q[d], f16_to_f32(key[d * tile_tokens]), score);
    scores[t] = score;
  }
  const softmax_state state = softmax(scores, limit);
  arguments.maxima[query] = state.maximum;
  arguments.sums[query] = state.sum;
  for (std::size_t d = 0; d < dim; ++d) {
    float sum = 0;
    for (std::size_t t = 0; t < limit; ++t) {
      const std::uint16_t* values = halves(arguments.tiles[t / tile_tokens]) + tile_tokens * dim;
      sum = std::fma(scores[t], f16_to_f32(values[t % tile_tokens * dim + d]), sum);
    }
    arguments.outputs[query][d] = sum;
  }
}

}  // namespace

float finite_in_f16(float value) {
  value = value > -65504.0F ? value : -65504.0F;
  return value < 65504.0F ? value : 65504.0F;
}

softmax_state softmax(float* scores, std::size_t limit) {
  float maximum = -3.402823466e+38F;
  for (std::size_t t = 0; t < limit; ++t) maximum = scores[t] > maximum ? scores[t] : maximum;
  float lanes[16] = {};
  for (std::size_t t = 0; t < limit; ++t) {
    scores[t] = exponential(scores[t] - maximum);
    lanes[t % 16] += scores[t];
  }
  return {maximum, fold_sum(lanes)};
}

void store_kv(const float* key, const float* value, std::int32_t head_dim, std::int32_t token,
              std::byte* tile) {
  auto* keys = reinterpret_cast<std::uint16_t*>(tile);
  std::uint16_t* values = keys + static_cast<std::ptrdiff_t>(tile_tokens + token) * head_dim;
  for (std::int32_t d = 0; d < head_dim; ++d) {
    keys[d * tile_tokens + token] = f32_to_f16(finite_in_f16(key[d]));
    values[d] = f32_to_f16(finite_in_f16(value[d]));
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
