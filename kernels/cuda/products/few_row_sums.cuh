// What few_row_product.cu sums: rows as they are or normed, times a lane's share of an output's weights.
#pragma once
#include "kernels/cuda/device.cuh"
#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/products/few_row_product.hpp"

namespace troupe::kernels::cuda {

inline constexpr int few_row_warps = 8;
inline constexpr int few_row_threads = 32 * few_row_warps;
inline constexpr int few_row_run = 8;  // inputs of a lane at a time

// RMSNorm of the rows into shared memory, as residual_rms_norm() rounds them.
template <class T>
__device__ __forceinline__ void norm_few_rows(const few_row_arguments& a, T* normed, float* partial) {
  for (int row = 0; row < a.rows; row++) {
    const float* const residual = a.residual + static_cast<std::size_t>(row) * a.inputs;
    float squares = 0;
    for (int i = static_cast<int>(threadIdx.x); i < a.inputs; i += few_row_threads)
      squares += residual[i] * residual[i];
    const float scale = rsqrtf(block_sum(squares, partial) / static_cast<float>(a.inputs) + a.epsilon);
    for (int i = static_cast<int>(threadIdx.x); i < a.inputs; i += few_row_threads)
      normed[row * a.inputs + i] = from_float<T>(residual[i] * (scale * a.norm_weight[i]));
    __syncthreads();
  }
}

// The same of rows of up to `strides` times as many inputs as a block has threads. The norm's weights are on
// the way before the rows are there, then all of the rows are at once.
template <int strides>
class held_norm {
 public:
  __device__ __forceinline__ void ask_for(const few_row_arguments& a) {
#pragma unroll
    for (int s = 0; s < strides; s++) weight_[s] = place_of(s) < a.inputs ? a.norm_weight[place_of(s)] : 0.0F;
  }

  // `partial`: [rows][few_row_warps].
  template <class T, int rows>
  __device__ __forceinline__ void norm(const few_row_arguments& a, T* normed, float* partial) const {
    float kept[rows][strides];
#pragma unroll
    for (int row = 0; row < rows; row++) {
#pragma unroll
      for (int s = 0; s < strides; s++)
        kept[row][s] =
            row < a.rows && place_of(s) < a.inputs ? a.residual[row * a.inputs + place_of(s)] : 0.0F;
    }
#pragma unroll
    for (int row = 0; row < rows; row++) {
      float squares = 0;
#pragma unroll
      for (int s = 0; s < strides; s++) squares += kept[row][s] * kept[row][s];
      squares = warp_sum(squares);
      if (threadIdx.x % 32 == 0) partial[row * few_row_warps + static_cast<int>(threadIdx.x / 32)] = squares;
    }
    __syncthreads();
#pragma unroll
    for (int row = 0; row < rows; row++) {
      if (row >= a.rows) break;
      float squares = 0;
#pragma unroll
      for (int warp = 0; warp < few_row_warps; warp++) squares += partial[row * few_row_warps + warp];
      const float scale = rsqrtf(squares / static_cast<float>(a.inputs) + a.epsilon);
#pragma unroll
      for (int s = 0; s < strides; s++)
        if (place_of(s) < a.inputs)
          normed[row * a.inputs + place_of(s)] = from_float<T>(kept[row][s] * (scale * weight_[s]));
    }
    __syncthreads();
  }

 private:
  static __device__ __forceinline__ int place_of(int s) {
    return static_cast<int>(threadIdx.x) + s * few_row_threads;
  }

  float weight_[strides];
};

// Adds the products of eight weights with the same inputs of each row.
template <class T, int rows>
__device__ __forceinline__ void add_products(const few_row_arguments& a, const T* input, int first,
                                             const float (&weight)[few_row_run], float (&sums)[rows]) {
#pragma unroll
  for (int row = 0; row < rows; row++) {
    if (row >= a.rows) break;
    float x[few_row_run];
    load_floats<few_row_run>(input + static_cast<std::size_t>(row) * a.inputs + first, x);
#pragma unroll
    for (int i = 0; i < few_row_run; i++) sums[row] += weight[i] * x[i];
  }
}

template <int rows>
__device__ __forceinline__ void end_sums(float (&sums)[rows]) {
#pragma unroll
  for (int row = 0; row < rows; row++) sums[row] = warp_sum(sums[row]);
}

template <class T>
__device__ __forceinline__ const T* weights_of(const few_row_arguments& a, int output) {
  return static_cast<const T*>(a.weights) + static_cast<std::size_t>(output) * a.inputs;
}

// All lanes of a warp together: the first weights of the output will lie in the L2 cache. No more of them, as
// all warps of the device ask at once: 2 KiB each of pairs are 17 MB on an H200, of whose cache they are a
// third.
template <class T>
__device__ __forceinline__ void ask_for_weights(const few_row_arguments& a, int output) {
  constexpr int line = 128;
  const auto* const weights = reinterpret_cast<const char*>(weights_of<T>(a, output));
  const int bytes = min(a.inputs * static_cast<int>(sizeof(T)), 2048);
  for (int byte = static_cast<int>(threadIdx.x % 32) * line; byte < bytes; byte += 32 * line)
    prefetch_line(weights + byte);
}

// The sums of one output for all rows, the same in each lane: its weights are loaded as they are used.
template <class T, int rows>
__device__ __forceinline__ void sum_streamed(const few_row_arguments& a, const T* input, int output,
                                             float (&sums)[rows]) {
  const T* const weights = weights_of<T>(a, output);
#pragma unroll
  for (int row = 0; row < rows; row++) sums[row] = 0;
#pragma unroll 4
  for (int first = static_cast<int>(threadIdx.x % 32) * few_row_run; first < a.inputs;
       first += 32 * few_row_run) {
    float weight[few_row_run];
    load_floats<few_row_run>(weights + first, weight);
    add_products<T, rows>(a, input, first, weight, sums);
  }
  end_sums<rows>(sums);
}

// A lane's share of an output's weights, `runs` loads of eight of them: all are on the way before what they
// are multiplied with is there.
template <class T, int runs>
class held_weights {
 public:
  __device__ __forceinline__ void ask_for(const few_row_arguments& a, int output) {
    const T* const weights = weights_of<T>(a, output);
#pragma unroll
    for (int i = 0; i < runs; i++)
      if (place_of(i) < a.inputs) held_[i] = *reinterpret_cast<const run*>(weights + place_of(i));
  }

  // The same sums, in the same order, as sum_streamed() has.
  template <int rows>
  __device__ __forceinline__ void sum(const few_row_arguments& a, const T* input, float (&sums)[rows]) const {
#pragma unroll
    for (int row = 0; row < rows; row++) sums[row] = 0;
#pragma unroll
    for (int i = 0; i < runs; i++) {
      if (place_of(i) >= a.inputs) continue;
      float weight[few_row_run];
#pragma unroll
      for (int j = 0; j < few_row_run; j++) weight[j] = to_float(held_[i].values[j]);
      add_products<T, rows>(a, input, place_of(i), weight, sums);
    }
    end_sums<rows>(sums);
  }

 private:
  using run = packed_elements<T, few_row_run>;
  static __device__ __forceinline__ int place_of(int i) {
    return (static_cast<int>(threadIdx.x % 32) + 32 * i) * few_row_run;
  }

  run held_[runs];
};

}  // namespace troupe::kernels::cuda
