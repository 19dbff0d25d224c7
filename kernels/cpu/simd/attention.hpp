// Attention over f16 tiles with V, a vector of 16 floats (see elementwise.hpp for the linkage). Queries share
// each load of K and V.
#pragma once
#include "kernels/cpu/simd/elementwise.hpp"

namespace troupe::kernels {
namespace {

inline const std::uint16_t* halves(const std::byte* tile) {
  return reinterpret_cast<const std::uint16_t*>(tile);
}

// Keys and values lie in pages of their own that no hardware prefetch crosses into: while one tile's keys are
// read, the same place of its values and of the next tile's keys is asked for.
inline void prefetch_places(const attend_arguments& a, std::int32_t tile, std::int32_t tiles,
                            std::int32_t next, std::int32_t end, std::int32_t d) {
  for (std::int32_t t = 0; t < tiles; ++t) {
    __builtin_prefetch(halves(a.tiles[tile + t]) + (a.head_dim + d) * tile_tokens);
    if (next + t < end) __builtin_prefetch(halves(a.tiles[next + t]) + d * tile_tokens);
  }
}

// scores[q][t] = sum over d of q[d] * K[d][t], in order; tokens past a query's limit are computed and never
// used.
template <class V, int Q, int Tiles>
inline void tile_scores(const attend_arguments& a, std::int32_t query, std::int32_t tile, std::int32_t end) {
  typename V::type sums[Q][Tiles];
  for (int q = 0; q < Q; ++q) {
    for (int t = 0; t < Tiles; ++t) sums[q][t] = V::zero();
  }
  for (std::int32_t d = 0; d < a.head_dim; ++d) {
    if (d % 2 == 0) prefetch_places(a, tile, Tiles, tile + Tiles, end, d);
    typename V::type keys[Tiles];
    for (int t = 0; t < Tiles; ++t) keys[t] = V::load_f16(halves(a.tiles[tile + t]) + d * tile_tokens);
    for (int q = 0; q < Q; ++q) {
      const auto value = V::set(a.queries[query + q][d]);
      for (int t = 0; t < Tiles; ++t) sums[q][t] = V::fma(value, keys[t], sums[q][t]);
    }
  }
  for (int q = 0; q < Q; ++q) {
    for (int t = 0; t < Tiles; ++t) {
      V::store(a.scores + (query + q) * stretch_tokens + (tile + t) * tile_tokens, sums[q][t]);
    }
  }
}

// Turns a query's scores into exp(score - maximum), zero past its limit up to `tiles` tiles.
template <class V>
inline void softmax(attend_arguments& a, std::int32_t query, std::int32_t tiles) {
  float* scores = a.scores + query * stretch_tokens;
  const std::int32_t limit = a.limits[query];
  auto top = V::set(-3.402823466e+38F);
  for (std::int32_t t = 0; t * tile_tokens < limit; ++t) {
    const std::int32_t seen = limit - t * tile_tokens;
    top = V::max(V::keep_first(V::load(scores + t * tile_tokens), seen, -3.402823466e+38F), top);
  }
  const float maximum = V::fold_max(top);
  const auto highest = V::set(maximum);
  auto sums = V::zero();
  for (std::int32_t t = 0; t < tiles; ++t) {
    const std::int32_t seen = limit - t * tile_tokens;
    const auto weight = exponential<V>(V::sub(V::load(scores + t * tile_tokens), highest));
    const auto kept = V::keep_first(weight, seen, 0.0F);
    sums = V::add(sums, kept);
    V::store(scores + t * tile_tokens, kept);
  }
  a.maxima[query] = maximum;
  a.sums[query] = V::fold_sum(sums);
}

// outputs[q][dims] = sum over tokens of weight * V[token][dims], in order.
template <class V, int Q, int Columns>
inline void weighted_values(attend_arguments& a, std::int32_t query, std::int32_t column,
                            std::int32_t tokens) {
  typename V::type sums[Q][Columns];
  for (int q = 0; q < Q; ++q) {
    for (int c = 0; c < Columns; ++c) sums[q][c] = V::zero();
  }
  const float* weights = a.scores + query * stretch_tokens;
  for (std::int32_t t = 0; t < tokens; ++t) {
    const std::uint16_t* row =
        halves(a.tiles[t / tile_tokens]) + (tile_tokens + t % tile_tokens) * a.head_dim + column;
    typename V::type values[Columns];
    for (int c = 0; c < Columns; ++c) values[c] = V::load_f16(row + c * 16);
    for (int q = 0; q < Q; ++q) {
      const auto weight = V::set(weights[q * stretch_tokens + t]);
      for (int c = 0; c < Columns; ++c) sums[q][c] = V::fma(weight, values[c], sums[q][c]);
    }
  }
  for (int q = 0; q < Q; ++q) {
    for (int c = 0; c < Columns; ++c) V::store(a.outputs[query + q] + column + c * 16, sums[q][c]);
  }
}

template <class V, int Q>
inline void attend_queries(attend_arguments& a, std::int32_t query) {
  std::int32_t tokens = 0;
  for (int q = 0; q < Q; ++q) tokens = a.limits[query + q] > tokens ? a.limits[query + q] : tokens;
  const std::int32_t tiles = (tokens + tile_tokens - 1) / tile_tokens;
  std::int32_t tile = 0;
  for (; tile + 2 <= tiles; tile += 2) tile_scores<V, Q, 2>(a, query, tile, tiles);
  if (tile < tiles) tile_scores<V, Q, 1>(a, query, tile, tiles);
  for (int q = 0; q < Q; ++q) softmax<V>(a, query + q, tiles);
  std::int32_t column = 0;
  constexpr int columns = Q * 4 <= V::sums_at_once ? 4 : 2;
  for (; column + 16 * columns <= a.head_dim; column += 16 * columns)
    weighted_values<V, Q, columns>(a, query, column, tokens);
  for (; column < a.head_dim; column += 16) weighted_values<V, Q, 1>(a, query, column, tokens);
}

// Calls Attend::queries<Q>(a, query) for stretches of Q queries, as many at once as V has registers for.
template <class V, class Attend>
inline void attend_in_turn(attend_arguments& a) {
  std::int32_t query = 0;
  while (query < a.num_queries) {
    const std::int32_t left = a.num_queries - query;
    const std::int32_t taken = left < V::queries_at_once ? left : V::queries_at_once;
    switch (taken) {
      case 1:
        Attend::template queries<1>(a, query);
        break;
      case 2:
        Attend::template queries<2>(a, query);
        break;
      case 3:
        Attend::template queries<3>(a, query);
        break;
      case 4:
        Attend::template queries<4>(a, query);
        break;
      case 5:
        Attend::template queries<5>(a, query);
        break;
      default:
        Attend::template queries<6>(a, query);
        break;
    }
    query += taken < max_attend_queries ? taken : max_attend_queries;
  }
}

template <class V>
struct f16_attention {
  template <int Q>
  static void queries(attend_arguments& a, std::int32_t query) {
    attend_queries<V, Q>(a, query);
  }
};

template <class V>
void attend(attend_arguments& a) {
  attend_in_turn<V, f16_attention<V>>(a);
}

template <class V>
inline typename V::type finite_in_f16(typename V::type x) {
  return V::min(V::max(x, V::set(-65504.0F)), V::set(65504.0F));
}

template <class V>
void store_kv(const float* key, const float* value, std::int32_t head_dim, std::int32_t token,
              std::byte* tile) {
  auto* key_codes = reinterpret_cast<std::uint16_t*>(tile);
  std::uint16_t* values = key_codes + (tile_tokens + token) * head_dim;
  for (std::int32_t d = 0; d < head_dim; d += 16) {
    std::uint16_t keys[16];
    V::store_f16(keys, finite_in_f16<V>(V::load(key + d)));
    for (std::int32_t i = 0; i < 16; ++i) key_codes[(d + i) * tile_tokens + token] = keys[i];
    V::store_f16(values + d, finite_in_f16<V>(V::load(value + d)));
  }
}

template <class V>
void merge(attention_state& state, float maximum, float sum, const float* output, std::int32_t head_dim) {
  const float highest = state.maximum > maximum ? state.maximum : maximum;
  const auto keep = exponential<V>(V::set(state.maximum - highest));
  const auto take = exponential<V>(V::set(maximum - highest));
  state.sum = V::first(V::fma(V::set(state.sum), keep, V::mul(V::set(sum), take)));
  state.maximum = highest;
  for (std::int32_t d = 0; d < head_dim; d += 16) {
    const auto added = V::mul(V::load(output + d), take);
    V::store(state.output + d, V::fma(V::load(state.output + d), keep, added));
  }
}

template <class V>
void finish(const attention_state& state, std::int32_t head_dim, float* out) {
  const auto inverse = V::set(1.0F / state.sum);
  for (std::int32_t d = 0; d < head_dim; d += 16)
    V::store(out + d, V::mul(V::load(state.output + d), inverse));
}

}  // namespace
}  // namespace troupe::kernels
