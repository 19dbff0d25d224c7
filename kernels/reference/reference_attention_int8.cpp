#include "kernels/reference/reference_attention_int8.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "kernels/reference/reference_attention.hpp"

namespace troupe::kernels::reference {
namespace {

// `value` rounded within +-limit, to even.
std::int32_t to_code(float value, float limit) {
  value = value > -limit ? value : -limit;
  value = value < limit ? value : limit;
  return static_cast<std::int32_t>(std::nearbyint(value));
}

float largest_magnitude(const float* values, std::size_t count) {
  float amax = 0;
  for (std::size_t i = 0; i < count; ++i) amax = std::fabs(values[i]) > amax ? std::fabs(values[i]) : amax;
  return amax;
}

// The head's transform in place, unscaled.
void hadamard(float* head, std::int32_t head_dim) {
  for (std::int32_t half = 1; half < hadamard_size(head_dim); half *= 2) {
    for (std::int32_t d = 0; d < head_dim; ++d) {
      if ((d & half) != 0) continue;
      const float a = head[d];
      const float b = head[d + half];
      head[d] = a + b;
      head[d + half] = a - b;
    }
  }
}

// Rounds to 15-bit codes; gives their scale.
float quantize_wide(const float* values, std::size_t count, std::int16_t* codes) {
  constexpr float most = 16256.0F;
  const float amax = largest_magnitude(values, count);
  const bool zero = amax < 1e-30F;
  const float inverse = zero ? 0.0F : most / amax;
  for (std::size_t i = 0; i < count; ++i)
    codes[i] = static_cast<std::int16_t>(to_code(values[i] * inverse, most));
  return zero ? 0.0F : amax * (1.0F / most);
}

float scale_at(const std::byte* tile, std::size_t offset, std::size_t token) {
  float scale = 0;
  std::memcpy(&scale, tile + offset + token * sizeof(float), sizeof(float));
  return scale;
}

// What the code at `offset` stands for, but for its scale.
std::int32_t code_at(const std::byte* tile, std::size_t offset) {
  return std::to_integer<std::int32_t>(tile[offset]) - 128;
}

struct tile_view {
  std::size_t dim;
  const std::byte* const* tiles;

  std::int32_t key(std::size_t t, std::size_t d) const {
    return code_at(tiles[t / tile_tokens], d / 4 * 64 + t % tile_tokens * 4 + d % 4);
  }
  std::int32_t value(std::size_t t, std::size_t d) const {
    const std::size_t place = t % tile_tokens;
    return code_at(tiles[t / tile_tokens], value_codes_offset(static_cast<std::int32_t>(dim)) +
                                               (place / 4 * dim + d) * 4 + place % 4);
  }
  float key_scale(std::size_t t) const {
    return scale_at(tiles[t / tile_tokens], key_scales_offset(static_cast<std::int32_t>(dim)),
                    t % tile_tokens);
  }
  float value_scale(std::size_t t) const {
    return scale_at(tiles[t / tile_tokens], value_scales_offset(static_cast<std::int32_t>(dim)),
                    t % tile_tokens);
  }
};

void attend_one_int8(attend_arguments& arguments, std::int32_t query) {
  const tile_view context{static_cast<std::size_t>(arguments.head_dim), arguments.tiles};
  const auto limit = static_cast<std::size_t>(arguments.limits[query]);
  std::int16_t* codes = arguments.codes + query * code_stride(arguments.head_dim);
  float* scores = arguments.scores + static_cast<std::size_t>(query) * stretch_tokens;
  float turned[max_int8_head_dim];
  std::copy_n(arguments.queries[query], context.dim, turned);
  hadamard(turned, arguments.head_dim);
  const float query_scale = quantize_wide(turned, context.dim, codes) * hadamard_scale(arguments.head_dim);
  for (std::size_t t = 0; t < limit; ++t) {
    std::int32_t dot = 0;
    for (std::size_t d = 0; d < context.dim; ++d) dot += codes[d] * context.key(t, d);
    scores[t] = static_cast<float>(dot) * (query_scale * context.key_scale(t));
  }
  const softmax_state state = softmax(scores, limit);
  arguments.maxima[query] = state.maximum;
  arguments.sums[query] = state.sum;
  for (std::size_t t = 0; t < limit; ++t) scores[t] *= context.value_scale(t);
  const float weight_scale = quantize_wide(scores, limit, codes) * hadamard_scale(arguments.head_dim);
  for (std::size_t d = 0; d < context.dim; ++d) {
    std::int32_t dot = 0;
    for (std::size_t t = 0; t < limit; ++t) dot += codes[t] * context.value(t, d);
    arguments.outputs[query][d] = static_cast<float>(dot) * weight_scale;
  }
  hadamard(arguments.outputs[query], arguments.head_dim);
}

// Puts each code of the transform, 128 too high, where `place(d)` says; gives their scale.
template <class Place>
float quantize_stored(const float* values, std::int32_t head_dim, std::byte* tile, const Place& place) {
  float turned[max_int8_head_dim];
  for (std::int32_t d = 0; d < head_dim; ++d) turned[d] = finite_in_f16(values[d]);
  hadamard(turned, head_dim);
  const float amax = largest_magnitude(turned, static_cast<std::size_t>(head_dim));
  const bool zero = amax < 1e-30F;
  const float inverse = zero ? 0.0F : 127.0F / amax;
  for (std::int32_t d = 0; d < head_dim; ++d) {
    tile[place(static_cast<std::size_t>(d))] =
        static_cast<std::byte>(128 + to_code(turned[d] * inverse, 127.0F));
  }
  return zero ? 0.0F : amax * (1.0F / 127.0F);
}

}  // namespace

void store_kv_int8(const float* key, const float* value, std::int32_t head_dim, std::int32_t token,
                   std::byte* tile) {
  const auto t = static_cast<std::size_t>(token);
  const auto dim = static_cast<std::size_t>(head_dim);
  const float key_scale =
      quantize_stored(key, head_dim, tile, [&](std::size_t d) { return d / 4 * 64 + t * 4 + d % 4; });
  const float value_scale = quantize_stored(value, head_dim, tile, [&](std::size_t d) {
    return value_codes_offset(head_dim) + (t / 4 * dim + d) * 4 + t % 4;
  });
  std::memcpy(tile + key_scales_offset(head_dim) + t * sizeof(float), &key_scale, sizeof(float));
  std::memcpy(tile + value_scales_offset(head_dim) + t * sizeof(float), &value_scale, sizeof(float));
}

void attend_int8(attend_arguments& arguments) {
  for (std::int32_t query = 0; query < arguments.num_queries; ++query) attend_one_int8(arguments, query);
}

}  // namespace troupe::kernels::reference
