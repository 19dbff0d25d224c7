#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/few_row_product.hpp"

namespace troupe::kernels::cuda {
namespace {

constexpr int few_row_warps = 8;
constexpr int few_row_threads = 32 * few_row_warps;
constexpr int few_row_run = 8;  // inputs of a lane at a time
constexpr std::size_t most_shared_bytes = std::size_t{48} << 10;
constexpr int blocks_of_a_multiprocessor = 8;

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

// The sums of one output for all rows, the same in each lane.
template <class T, int rows>
__device__ __forceinline__ void sum_output(const few_row_arguments& a, const T* input, int output,
                                           float (&sums)[rows]) {
  const T* const weights = static_cast<const T*>(a.weights) + static_cast<std::size_t>(output) * a.inputs;
#pragma unroll
  for (int row = 0; row < rows; row++) sums[row] = 0;
#pragma unroll 4
  for (int first = static_cast<int>(threadIdx.x % 32) * few_row_run; first < a.inputs;
       first += 32 * few_row_run) {
    float weight[few_row_run];
    load_floats<few_row_run>(weights + first, weight);
#pragma unroll
    for (int row = 0; row < rows; row++) {
      if (row >= a.rows) break;
      float x[few_row_run];
      load_floats<few_row_run>(input + static_cast<std::size_t>(row) * a.inputs + first, x);
#pragma unroll
      for (int i = 0; i < few_row_run; i++) sums[row] += weight[i] * x[i];
    }
  }
#pragma unroll
  for (int row = 0; row < rows; row++) sums[row] = warp_sum(sums[row]);
}

template <class T>
__device__ __forceinline__ float rounded_to(float value) {
  return to_float(from_float<T>(value));
}

template <class T, int rows>
__device__ __forceinline__ void store_output(const few_row_arguments& a, int output,
                                             const float (&sums)[rows]) {
#pragma unroll
  for (int row = 0; row < rows; row++) {
    if (row >= a.rows) break;
    const std::size_t at = static_cast<std::size_t>(row) * a.outputs + output;
    if (a.kind == few_row_output::rounded) {
      static_cast<T*>(a.output)[at] = from_float<T>(sums[row]);
    } else if (a.kind == few_row_output::f32) {
      static_cast<float*>(a.output)[at] = sums[row];
    } else {
      static_cast<float*>(a.output)[at] += sums[row];
    }
  }
}

template <class T, int rows>
__global__ void __launch_bounds__(few_row_threads, 4) few_row_kernel(few_row_arguments a) {
  TROUPE_SHARED(float, partial, [few_row_warps]);
  TROUPE_DYNAMIC_SHARED(T, normed);
  const T* input = static_cast<const T*>(a.input);
  if (input == nullptr) {
    norm_few_rows<T>(a, normed, partial);
    input = normed;
  }
  const bool is_gated = a.kind == few_row_output::gated;
  const int outputs = is_gated ? a.outputs / 2 : a.outputs;
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int output = static_cast<int>(blockIdx.x * few_row_warps + threadIdx.x / 32); output < outputs;
       output += static_cast<int>(gridDim.x) * few_row_warps) {
    float sums[rows];
    sum_output<T, rows>(a, input, output, sums);
    if (!is_gated) {
      if (lane == 0) store_output<T, rows>(a, output, sums);
      continue;
    }
    float ups[rows];
    sum_output<T, rows>(a, input, output + outputs, ups);
    if (lane > 0) continue;
#pragma unroll
    for (int row = 0; row < rows; row++) {
      if (row >= a.rows) break;
      const float gate = rounded_to<T>(sums[row]);
      static_cast<T*>(a.output)[static_cast<std::size_t>(row) * outputs + output] =
          from_float<T>(gate / (1.0F + __expf(-gate)) * rounded_to<T>(ups[row]));
    }
  }
}

template <class T, int rows>
void launch_few_rows(const few_row_arguments& a, cudaStream_t stream) {
  const int outputs = a.kind == few_row_output::gated ? a.outputs / 2 : a.outputs;
  const int blocks = (outputs + few_row_warps - 1) / few_row_warps;
  const dim3 grid(static_cast<unsigned>(min(blocks, blocks_of_a_multiprocessor * a.multiprocessors)));
  const std::int32_t normed = a.input == nullptr ? a.rows * a.inputs : few_row_run;  // never none
  const std::size_t shared = sizeof(T) * static_cast<std::size_t>(normed);
  TROUPE_LAUNCH((few_row_kernel<T, rows>), grid, few_row_threads, shared, stream, a);
}

}  // namespace

bool can_norm_few_rows(std::int32_t rows, std::int32_t inputs) {
  return 2 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(inputs) + 256 <= most_shared_bytes;
}

void multiply_few_rows(const few_row_arguments& arguments, cudaStream_t stream) {
  if (arguments.rows == 0) return;
  with_element_type(arguments.type, [&](auto element) {
    using type = decltype(element);
    if (arguments.rows == 1) {
      launch_few_rows<type, 1>(arguments, stream);
    } else if (arguments.rows == 2) {
      launch_few_rows<type, 2>(arguments, stream);
    } else {
      launch_few_rows<type, max_few_rows>(arguments, stream);
    }
  });
}

}  // namespace troupe::kernels::cuda
