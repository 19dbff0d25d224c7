// Attention over int8 tiles with V, a vector of 16 floats, and D, the dot products of an instruction set:
//   D::lanes, D::store_codes   15-bit codes in the form that step() reads, and what they add up to
//   D::sums, D::step, D::total   16 dot products of four bytes a lane with four codes, in D::parts registers
// Keys times a query and values times weights are the same loop over groups of four. See kernel_table for
// what is computed. Nothing is asked for ahead as in attention.hpp: with tiles of half the size that was
// measured to cost more than it gains.
#pragma once
#include <cstring>

#include "kernels/cpu/simd/attention.hpp"

namespace troupe::kernels {
namespace {

inline constexpr float most_wide = 16256.0F;  // 127 * 128

struct wide_row {
  float scale;
  std::int32_t offset;  // -128 * sum of the codes: the tiles' codes are stored 128 too high
};

// `count` values, a multiple of 16, to 15-bit codes.
template <class V, class D>
inline wide_row quantize_wide(const float* values, std::int32_t count, std::int16_t* codes) {
  auto top = V::zero();
  for (std::int32_t i = 0; i < count; i += 16) top = V::max(V::absolute(V::load(values + i)), top);
  const float amax = V::fold_max(top);
  const bool zero = amax < 1e-30F;
  const auto inverse = V::set(zero ? 0.0F : most_wide / amax);
  typename D::lanes sum = D::no_lanes();
  for (std::int32_t i = 0; i < count; i += 16) {
    const auto scaled = V::mul(V::load(values + i), inverse);
    const auto kept = V::min(V::max(scaled, V::set(-most_wide)), V::set(most_wide));
    D::store_codes(codes + i, kept, sum);
  }
  return {zero ? 0.0F : amax * (1.0F / most_wide), -128 * D::fold(sum)};
}

// The head's transform, unscaled; `to` may be `from`.
template <class V>
inline void hadamard(const float* from, std::int32_t head_dim, float* to) {
  for (std::int32_t d = 0; d < head_dim; d += 16) V::store(to + d, V::hadamard(V::load(from + d)));
  for (std::int32_t half = 16; half < hadamard_size(head_dim); half *= 2) {
    for (std::int32_t first = 0; first < head_dim; first += 2 * half) {
      for (std::int32_t d = first; d < first + half; d += 16) {
        const auto a = V::load(to + d);
        const auto b = V::load(to + d + half);
        V::store(to + d, V::add(a, b));
        V::store(to + d + half, V::sub(a, b));
      }
    }
  }
}

// A query's transform to codes.
template <class V, class D>
inline wide_row quantize_query(const attend_arguments& a, std::int32_t query) {
  float turned[max_int8_head_dim];
  hadamard<V>(a.queries[query], a.head_dim, turned);
  wide_row row = quantize_wide<V, D>(turned, a.head_dim, a.codes + query * code_stride(a.head_dim));
  row.scale *= hadamard_scale(a.head_dim);
  return row;
}

inline const float* scales_at(const std::byte* tile, std::size_t offset) {
  return reinterpret_cast<const float*>(tile + offset);
}

template <class V, class D, int Q, int Tiles>
inline void tile_scores_int8(const attend_arguments& a, const wide_row* rows, std::int32_t query,
                             std::int32_t tile) {
  const auto stride = static_cast<std::size_t>(code_stride(a.head_dim));
  const std::int16_t* codes = a.codes + query * stride;
  typename D::sums sums[Tiles][Q * D::parts];
  for (int t = 0; t < Tiles; ++t) {
    for (auto& sum : sums[t]) sum = D::no_sums();
  }
  for (std::int32_t group = 0; group < a.head_dim / 4; ++group) {
    for (int t = 0; t < Tiles; ++t) {
      D::template step<Q>(sums[t], a.tiles[tile + t] + group * 64, codes + group * 4, stride);
    }
  }
  for (int t = 0; t < Tiles; ++t) {
    const auto scales = V::load(scales_at(a.tiles[tile + t], key_scales_offset(a.head_dim)));
    for (int q = 0; q < Q; ++q) {
      const auto dots = D::total(sums[t] + q * D::parts, rows[q].offset);
      float* scores = a.scores + (query + q) * stretch_tokens + (tile + t) * tile_tokens;
      V::store(scores, V::mul(dots, V::mul(V::set(rows[q].scale), scales)));
    }
  }
}

// A query's weights, each times its token's V scale, to codes.
template <class V, class D>
inline wide_row quantize_weights(const attend_arguments& a, std::int32_t query, std::int32_t tiles) {
  float* weights = a.scores + query * stretch_tokens;
  for (std::int32_t t = 0; t < tiles; ++t) {
    float* place = weights + t * tile_tokens;
    V::store(place, V::mul(V::load(place), V::load(scales_at(a.tiles[t], value_scales_offset(a.head_dim)))));
  }
  std::int16_t* codes = a.codes + query * code_stride(a.head_dim);
  wide_row row = quantize_wide<V, D>(weights, tiles * tile_tokens, codes);
  row.scale *= hadamard_scale(a.head_dim);
  return row;
}

template <class V, class D, int Q, int Columns>
inline void weighted_values_int8(attend_arguments& a, const wide_row* rows, std::int32_t query,
                                 std::int32_t column, std::int32_t tiles) {
  const auto stride = static_cast<std::size_t>(code_stride(a.head_dim));
  const std::int16_t* codes = a.codes + query * stride;
  const std::size_t first = value_codes_offset(a.head_dim) + static_cast<std::size_t>(column) * 4;
  typename D::sums sums[Columns][Q * D::parts];
  for (int c = 0; c < Columns; ++c) {
    for (auto& sum : sums[c]) sum = D::no_sums();
  }
  for (std::int32_t group = 0; group < tiles * (tile_tokens / 4); ++group) {
    const std::byte* values =
        a.tiles[group / 4] + first + static_cast<std::size_t>(group % 4 * a.head_dim) * 4;
    for (int c = 0; c < Columns; ++c) {
      D::template step<Q>(sums[c], values + c * 64, codes + group * 4, stride);
    }
  }
  for (int c = 0; c < Columns; ++c) {
    for (int q = 0; q < Q; ++q) {
      const auto dots = D::total(sums[c] + q * D::parts, rows[q].offset);
      V::store(a.outputs[query + q] + column + c * 16, V::mul(dots, V::set(rows[q].scale)));
    }
  }
}

template <class V, class D>
struct int8_attention {
  template <int Q>
  static void queries(attend_arguments& a, std::int32_t query) {
    constexpr int beside = D::template beside<Q>();
    std::int32_t tokens = 0;
    for (int q = 0; q < Q; ++q) tokens = a.limits[query + q] > tokens ? a.limits[query + q] : tokens;
    const std::int32_t tiles = (tokens + tile_tokens - 1) / tile_tokens;
    wide_row rows[Q];
    for (int q = 0; q < Q; ++q) rows[q] = quantize_query<V, D>(a, query + q);
    std::int32_t tile = 0;
    for (; tile + beside <= tiles; tile += beside) {
      tile_scores_int8<V, D, Q, beside>(a, rows, query, tile);
    }
    for (; tile < tiles; ++tile) tile_scores_int8<V, D, Q, 1>(a, rows, query, tile);
    for (int q = 0; q < Q; ++q) {
      softmax<V>(a, query + q, tiles);
      rows[q] = quantize_weights<V, D>(a, query + q, tiles);
    }
    std::int32_t column = 0;
    for (; column + 16 * beside <= a.head_dim; column += 16 * beside) {
      weighted_values_int8<V, D, Q, beside>(a, rows, query, column, tiles);
    }
    for (; column < a.head_dim; column += 16) {
      weighted_values_int8<V, D, Q, 1>(a, rows, query, column, tiles);
    }
    for (int q = 0; q < Q; ++q) hadamard<V>(a.outputs[query + q], a.head_dim, a.outputs[query + q]);
  }
};

template <class V, class D>
void attend_int8(attend_arguments& a) {
  attend_in_turn<V, int8_attention<V, D>>(a);
}

// The codes of a row's transform, 128 too high, 16 at a time; gives their scale.
template <class V, class Put>
inline float quantize_stored(const float* values, std::int32_t head_dim, const Put& put) {
  float turned[max_int8_head_dim];
  for (std::int32_t d = 0; d < head_dim; d += 16) {
    V::store(turned + d, finite_in_f16<V>(V::load(values + d)));
  }
  hadamard<V>(turned, head_dim, turned);
  auto top = V::zero();
  for (std::int32_t d = 0; d < head_dim; d += 16) top = V::max(V::absolute(V::load(turned + d)), top);
  const float amax = V::fold_max(top);
  const bool zero = amax < 1e-30F;
  const auto inverse = V::set(zero ? 0.0F : 127.0F / amax);
  for (std::int32_t d = 0; d < head_dim; d += 16) {
    std::uint8_t codes[16];
    V::store_raised_codes(codes, V::mul(V::load(turned + d), inverse));
    put(d, codes);
  }
  return zero ? 0.0F : amax * (1.0F / 127.0F);
}

template <class V>
void store_kv_int8(const float* key, const float* value, std::int32_t head_dim, std::int32_t token,
                   std::byte* tile) {
  const auto put_scale = [&](std::size_t offset, float scale) {
    std::memcpy(tile + offset + static_cast<std::size_t>(token) * sizeof(float), &scale, sizeof(float));
  };
  const float key_scale = quantize_stored<V>(key, head_dim, [&](std::int32_t d, const std::uint8_t* codes) {
    for (std::int32_t i = 0; i < 16; i += 4) {
      std::memcpy(tile + ((d + i) * tile_tokens + token * 4), codes + i, 4);
    }
  });
  std::byte* values = tile + value_codes_offset(head_dim) + token / 4 * head_dim * 4 + token % 4;
  const float value_scale =
      quantize_stored<V>(value, head_dim, [&](std::int32_t d, const std::uint8_t* codes) {
        for (std::int32_t i = 0; i < 16; ++i) values[(d + i) * 4] = static_cast<std::byte>(codes[i]);
      });
  put_scale(key_scales_offset(head_dim), key_scale);
  put_scale(value_scales_offset(head_dim), value_scale);
}

}  // namespace
}  // namespace troupe::kernels
