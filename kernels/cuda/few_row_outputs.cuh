// What few_row_product.cu makes of the sums of one output, or of two that belong together.
#pragma once
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/few_row_product.hpp"

namespace troupe::kernels::cuda {

template <class T>
__device__ __forceinline__ float rounded_to(float value) {
  return to_float(from_float<T>(value));
}

template <class T, int rows, few_row_output kind>
__device__ __forceinline__ void store_output(const few_row_arguments& a, int output,
                                             const float (&sums)[rows]) {
  if (threadIdx.x % 32 != 0) return;
#pragma unroll
  for (int row = 0; row < rows; row++) {
    if (row >= a.rows) break;
    const std::size_t at = static_cast<std::size_t>(row) * a.outputs + output;
    if constexpr (kind == few_row_output::rounded) {
      static_cast<T*>(a.output)[at] = from_float<T>(sums[row]);
    } else if constexpr (kind == few_row_output::f32) {
      static_cast<float*>(a.output)[at] = sums[row];
    } else {
      static_cast<float*>(a.output)[at] += sums[row];
    }
  }
}

template <class T, int rows>
__device__ __forceinline__ void store_gated(const few_row_arguments& a, int output,
                                            const float (&gates)[rows], const float (&ups)[rows]) {
  if (threadIdx.x % 32 != 0) return;
#pragma unroll
  for (int row = 0; row < rows; row++) {
    if (row >= a.rows) break;
    static_cast<T*>(a.output)[static_cast<std::size_t>(row) * (a.outputs / 2) + output] =
        from_float<T>(gated(rounded_to<T>(gates[row]), rounded_to<T>(ups[row])));
  }
}

// What a row's pair of elements of a head is rotated by, and where the row is stored.
struct pair_turn {
  float cosine = 1.0F;
  float sine = 0.0F;
  std::int32_t slot = -1;
};

// Which outputs a warp computes together: one; a gate and its up; two elements of a head that are rotated
// together.
template <few_row_output kind>
struct output_pairs {
  static constexpr bool are_pairs = kind == few_row_output::gated || kind == few_row_output::rotated;

  static __device__ __forceinline__ int count(const few_row_arguments& a) {
    return are_pairs ? a.outputs / 2 : a.outputs;
  }
  static __device__ __forceinline__ bool interleaves(const few_row_arguments& a) {
    return kind == few_row_output::rotated && a.rotation.pairs == rope_pairs::interleaved;
  }
  static __device__ __forceinline__ int first(const few_row_arguments& a, int pair) {
    if (kind != few_row_output::rotated) return pair;
    const int half = a.rotation.kv.head_dim / 2;
    return interleaves(a) ? 2 * pair : pair / half * 2 * half + pair % half;
  }
  static __device__ __forceinline__ int second(const few_row_arguments& a, int first) {
    if (kind == few_row_output::gated) return first + a.outputs / 2;
    return first + (interleaves(a) ? 1 : a.rotation.kv.head_dim / 2);
  }
};

__device__ __forceinline__ pair_turn load_turn(const few_row_arguments& a, int pair) {
  const rotate_and_store_arguments& r = a.rotation;
  const int half = r.kv.head_dim / 2;
  const int row = static_cast<int>(threadIdx.x % 32);
  pair_turn turn;
  if (row >= a.rows) return turn;
  if (pair / half < r.num_heads + r.kv.num_kv_heads) {
    turn.cosine = r.angles[row * r.rope_dim + 2 * (pair % half)];
    turn.sine = r.angles[row * r.rope_dim + 2 * (pair % half) + 1];
  }
  turn.slot = r.slots[row];
  return turn;
}

// By the lane of each row.
template <class T, int rows>
__device__ __forceinline__ void store_rotated(const few_row_arguments& a, int first, int second,
                                              const float (&firsts)[rows], const float (&seconds)[rows],
                                              const pair_turn& turn) {
  const rotate_and_store_arguments& r = a.rotation;
  const auto row = static_cast<int>(threadIdx.x % 32);
  if (row >= a.rows) return;
  float x = 0;
  float y = 0;
#pragma unroll
  for (int i = 0; i < rows; i++) {
    x = i == row ? rounded_to<T>(firsts[i]) : x;
    y = i == row ? rounded_to<T>(seconds[i]) : y;
  }
  if (r.bias != nullptr) {
    x += r.bias[first];
    y += r.bias[second];
  }
  const int head = first / r.kv.head_dim;
  const bool is_query = head < r.num_heads;
  const bool is_value = head >= r.num_heads + r.kv.num_kv_heads;
  if (!is_value) rotate_pair(x, y, turn.cosine, turn.sine);
  T* to = static_cast<T*>(a.output) + static_cast<std::size_t>(row) * a.outputs + head * r.kv.head_dim;
  if (!is_query) {
    if (turn.slot < 0) return;
    to = static_cast<T*>(r.kv.data) +
         r.kv.element_index(r.layer, turn.slot / r.kv.block_size, is_value ? kv_part::value : kv_part::key,
                            (head - r.num_heads) % r.kv.num_kv_heads, turn.slot % r.kv.block_size);
  }
  to[first % r.kv.head_dim] = from_float<T>(x);
  to[second % r.kv.head_dim] = from_float<T>(y);
}

template <class T, int rows, few_row_output kind>
__device__ __forceinline__ void store_pair(const few_row_arguments& a, int pair, const float (&firsts)[rows],
                                           const float (&seconds)[rows], const pair_turn& turn) {
  if constexpr (kind == few_row_output::gated) {
    store_gated<T, rows>(a, pair, firsts, seconds);
  } else {
    const int first = output_pairs<kind>::first(a, pair);
    store_rotated<T, rows>(a, first, output_pairs<kind>::second(a, first), firsts, seconds, turn);
  }
}

}  // namespace troupe::kernels::cuda
