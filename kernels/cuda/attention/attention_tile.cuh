// Attention of 16 queries over 64 tokens by one warp: what all attention kernels are made of.
//
// Queries are pairs (row, query head of one KV head), so that a KV head is read once for all its query heads.
// Tokens are counted from the context's beginning: 64 are a tile, 256 (four tiles) a stretch. A tile's
// softmax is taken by itself (FlashAttention, arXiv 2205.14135); tiles are folded into their stretch in
// order, stretches into the context in order. Whatever kernel computes a query does these same operations in
// the same order, and folding in a tile of which a query sees nothing leaves it bit for bit as it was: so a
// query's bits depend on its own row and the KV it sees alone, not on the rows beside it, on the batch or on
// the kernel that was chosen.
//
// Which lane holds what is chosen so that 16-byte pieces of the KV memory become the tensor cores' operands
// without a way through shared memory. The order of k in a product is free as long as both operands agree:
//   scores:  lane (g, t) of the keys reads elements 32 c + 8 t .. + 7 of token g, so do the queries' lanes;
//   outputs: lane (g, t) of the values reads elements 64 c + 8 g .. + 7 of the tokens that lane t of the
//   scores holds.
// (g = lane / 4, t = lane % 4.) A lane's outputs are then 16 neighbouring elements of two queries.
#pragma once
#include "kernels/cuda/attention/kv_chunk.cuh"
#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/attention/paged_attention.hpp"

namespace troupe::kernels::cuda {

inline constexpr int tile_tokens = 64;
inline constexpr int tile_pairs = pairs_of_a_split;  // queries: (row, head)
inline constexpr int stretch_tokens = tokens_of_a_stretch;
inline constexpr int stretch_tiles = stretch_tokens / tile_tokens;
inline constexpr float log2_of_e = 1.4426950408889634F;

// 2^x to within 2 units in the last place; exactly 1 for 0 and 0 for -infinity.
__device__ __forceinline__ float power_of_two(float x) {
#ifdef TROUPE_CUDA_EMULATION
  return std::exp2(x);
#else
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
#endif
}

// Of a query over some tokens: the largest score (base 2), and the sum of the weights 2^(score - maximum).
// Outputs belong to it that are sums of weight * value.
struct softmax_state {
  float maximum;
  float sum;
};
__device__ __forceinline__ softmax_state nothing_seen() { return {-INFINITY, 0.0F}; }

// Folds `next`, the tokens that follow, into `state`. An output becomes output * keep + next output * take.
struct fold_factors {
  float keep;
  float take;
};
__device__ __forceinline__ fold_factors fold(softmax_state& state, const softmax_state& next) {
  const float highest = fmaxf(state.maximum, next.maximum);
  // Without the test two states of nothing would give infinity - infinity.
  const float keep = state.maximum == -INFINITY ? 0.0F : power_of_two(state.maximum - highest);
  const float take = next.maximum == -INFINITY ? 0.0F : power_of_two(next.maximum - highest);
  state.sum = __fmaf_rn(state.sum, keep, __fmul_rn(next.sum, take));
  state.maximum = highest;
  return {keep, take};
}
__device__ __forceinline__ float fold_output(float output, float next, const fold_factors& factors) {
  return __fmaf_rn(output, factors.keep, __fmul_rn(next, factors.take));
}

// 32 elements of 16 queries as operands of two products.
struct query_operands {
  std::uint32_t a[2][4];
};

// `low` and `high`: this lane's rows g and g + 8 at their first element; null where there is no such query.
template <class Element>
__device__ __forceinline__ query_operands load_queries(const Element* low, const Element* high, int group,
                                                       int head_dim) {
  const int element = 32 * group + chunk_elements * static_cast<int>(threadIdx.x % 4);
  const bool inside = element < head_dim;
  const uint4 none = make_uint4(0, 0, 0, 0);
  const uint4 l = low != nullptr && inside ? *reinterpret_cast<const uint4*>(low + element) : none;
  const uint4 h = high != nullptr && inside ? *reinterpret_cast<const uint4*>(high + element) : none;
  return {{{l.x, h.x, l.y, h.y}, {l.z, h.z, l.w, h.w}}};
}

// The weights of a tile: operands of the product with the values, and the state of this lane's two queries.
struct tile_weights {
  std::uint32_t a[4][4];
  softmax_state states[2];
};

__device__ __forceinline__ float largest_of_quad(float value) {
  value = fmaxf(value, __shfl_xor_sync(0xFFFFFFFFU, value, 1));
  return fmaxf(value, __shfl_xor_sync(0xFFFFFFFFU, value, 2));
}
__device__ __forceinline__ float sum_of_quad(float value) {
  value = __fadd_rn(value, __shfl_xor_sync(0xFFFFFFFFU, value, 1));
  return __fadd_rn(value, __shfl_xor_sync(0xFFFFFFFFU, value, 2));
}

// scores[n / 4][n % 4][i]: of query g + 8 * (i / 2) and token 8 n + 2 t + i % 2, as multiplied. `visible`:
// how many tokens of the tile the queries g and g + 8 see, none where <= 0. `scale`: of the scores, times
// log2(e). A Tile with int8 codes tells the scales of tokens 8 n + 2 t and the next: those of the values go
// into the weights that multiply them.
template <class Element, class Tile>
__device__ __forceinline__ tile_weights weigh(float (&scores)[2][4][4], const int (&visible)[2], float scale,
                                              const Tile& tile) {
  const int column = 2 * static_cast<int>(threadIdx.x % 4);
  float maxima[2] = {-INFINITY, -INFINITY};
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    if constexpr (Tile::scaled) {
      const float2 scales = tile.key_scales(n);
#pragma unroll
      for (int i = 0; i < 4; ++i)
        scores[n / 4][n % 4][i] = __fmul_rn(scores[n / 4][n % 4][i], i % 2 == 0 ? scales.x : scales.y);
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const bool seen = 8 * n + column + i % 2 < visible[i / 2];
      scores[n / 4][n % 4][i] = seen ? __fmul_rn(scores[n / 4][n % 4][i], scale) : -INFINITY;
      maxima[i / 2] = fmaxf(maxima[i / 2], scores[n / 4][n % 4][i]);
    }
  }
  float base[2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    maxima[i] = largest_of_quad(maxima[i]);
    base[i] = maxima[i] == -INFINITY ? 0.0F : maxima[i];
  }
  tile_weights weights;
  float sums[2] = {0.0F, 0.0F};
#pragma unroll
  for (int n = 0; n < 8; ++n) {
    float part[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      part[i] = power_of_two(__fadd_rn(scores[n / 4][n % 4][i], -base[i / 2]));
      sums[i / 2] = __fadd_rn(sums[i / 2], part[i]);
    }
    if constexpr (Tile::scaled) {
      const float2 scales = tile.value_scales(n);
#pragma unroll
      for (int i = 0; i < 4; ++i) part[i] = __fmul_rn(part[i], i % 2 == 0 ? scales.x : scales.y);
    }
    weights.a[n / 2][n % 2 * 2] = pack_pair<Element>(part[0], part[1]);
    weights.a[n / 2][n % 2 * 2 + 1] = pack_pair<Element>(part[2], part[3]);
  }
#pragma unroll
  for (int i = 0; i < 2; ++i) weights.states[i] = {maxima[i], sum_of_quad(sums[i])};
  return weights;
}

// Adds 16 tokens' weighted values: 64 elements of 16 queries. `chunks`: this lane's of the tokens 2t, 2t + 1,
// 2t + 8 and 2t + 9. outputs[j][i]: of query g + 8 * (i / 2) and element 16 t + 8 * (i % 2) + j of these 64.
template <class Element>
__device__ __forceinline__ void add_values(float (&outputs)[8][4], const std::uint32_t (&weights)[4],
                                           const std::uint32_t (&chunks)[4][4]) {
  std::uint32_t a[1][4];
  std::uint32_t b[1][8][2];
#pragma unroll
  for (int i = 0; i < 4; ++i) a[0][i] = weights[i];
#pragma unroll
  for (int j = 0; j < 8; ++j) {
    // The same element of two tokens side by side.
    const unsigned halves = j % 2 == 0 ? 0x5410U : 0x7632U;
    b[0][j][0] = __byte_perm(chunks[0][j / 2], chunks[1][j / 2], halves);
    b[0][j][1] = __byte_perm(chunks[2][j / 2], chunks[3][j / 2], halves);
  }
  multiply_tiles<Element, 1, 8>(outputs, a, b);
}

}  // namespace troupe::kernels::cuda
