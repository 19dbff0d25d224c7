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

// A lane's share of an output's weights: `runs` loads of eight of them, all on the way before what they are
// multiplied with is there; with 0 they are loaded as they are used, and the first that a warp will use lie
// in the L2 cache by then.
template <class T, int runs>
class output_weights {
 public:
  __device__ __forceinline__ void ask_for(const few_row_arguments& a, int output) {
    weights_ = weights_of(a, output);
#pragma unroll
    for (int i = 0; i < runs; i++)
      if (place_of(i) < a.inputs) held_[i] = *reinterpret_cast<const run*>(weights_ + place_of(i));
  }
  static __device__ __forceinline__ void bring_near(const few_row_arguments& a, int output) {
    constexpr int line = 128 / sizeof(T);
    constexpr int most = 16 * line;  // of all warps together what the cache holds
    const int at = static_cast<int>(threadIdx.x % 32) * line;
    if (runs == 0 && at < min(a.inputs, most)) prefetch_line(weights_of(a, output) + at);
  }

  // Calls use(first input, weights of few_row_run inputs).
  template <class Use>
  __device__ __forceinline__ void visit(int inputs, const Use& use) const {
    if constexpr (runs == 0) {
#pragma unroll 4
      for (int first = place_of(0); first < inputs; first += stride)
        use(first, *reinterpret_cast<const run*>(weights_ + first));
    } else {
#pragma unroll
      for (int i = 0; i < runs; i++)
        if (place_of(i) < inputs) use(place_of(i), held_[i]);
    }
  }

 private:
  using run = packed_elements<T, few_row_run>;
  static constexpr int stride = 32 * few_row_run;
  static __device__ __forceinline__ int place_of(int i) {
    return static_cast<int>(threadIdx.x % 32) * few_row_run + i * stride;
  }
  static __device__ __forceinline__ const T* weights_of(const few_row_arguments& a, int output) {
    return static_cast<const T*>(a.weights) + static_cast<std::size_t>(output) * a.inputs;
  }

  const T* weights_ = nullptr;
  run held_[runs == 0 ? 1 : runs];
};

// The sums of one output for all rows, the same in each lane.
template <class T, int rows, int runs>
__device__ __forceinline__ void sum_output(const few_row_arguments& a, const T* input,
                                           const output_weights<T, runs>& weights, float (&sums)[rows]) {
#pragma unroll
  for (int row = 0; row < rows; row++) sums[row] = 0;
  weights.visit(a.inputs, [&](int first, const packed_elements<T, few_row_run>& weight) {
#pragma unroll
    for (int row = 0; row < rows; row++) {
      if (row >= a.rows) break;
      float x[few_row_run];
      load_floats<few_row_run>(input + static_cast<std::size_t>(row) * a.inputs + first, x);
#pragma unroll
      for (int i = 0; i < few_row_run; i++) sums[row] += to_float(weight.values[i]) * x[i];
    }
  });
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
__device__ __forceinline__ void store_gated(const few_row_arguments& a, int output,
                                            const float (&gates)[rows], const float (&ups)[rows]) {
#pragma unroll
  for (int row = 0; row < rows; row++) {
    if (row >= a.rows) break;
    const float gate = rounded_to<T>(gates[row]);
    static_cast<T*>(a.output)[static_cast<std::size_t>(row) * (a.outputs / 2) + output] =
        from_float<T>(gate / (1.0F + __expf(-gate)) * rounded_to<T>(ups[row]));
  }
}

// Blocks that a multiprocessor holds: what the registers leave room for.
template <int rows, int runs, bool is_gated>
constexpr int few_row_residents = runs == 0                            ? 4
                                  : runs > 3 || (is_gated && rows > 1) ? 2
                                                                       : 3;

template <class T, int rows, int runs, bool is_gated>
__global__ void __launch_bounds__(few_row_threads, (few_row_residents<rows, runs, is_gated>))
    few_row_kernel(few_row_arguments a) {
  TROUPE_SHARED(float, partial, [few_row_warps]);
  TROUPE_DYNAMIC_SHARED(T, normed);
  let_later_kernels_begin();
  using weights = output_weights<T, runs>;
  const int outputs = is_gated ? a.outputs / 2 : a.outputs;
  const int lane = static_cast<int>(threadIdx.x % 32);
  int output = static_cast<int>(blockIdx.x * few_row_warps + threadIdx.x / 32);
  weights of_output, of_up;
  if (output < outputs) {
    of_output.ask_for(a, output);
    weights::bring_near(a, output);
    if constexpr (is_gated) {
      of_up.ask_for(a, output + outputs);
      weights::bring_near(a, output + outputs);
    }
  }
  wait_for_earlier_kernels();
  const T* input = static_cast<const T*>(a.input);
  if (input == nullptr) {
    norm_few_rows<T>(a, normed, partial);
    input = normed;
  }
  for (int next; output < outputs; output = next) {
    next = output + static_cast<int>(gridDim.x) * few_row_warps;
    float sums[rows];
    sum_output<T, rows>(a, input, of_output, sums);
    if (next < outputs) of_output.ask_for(a, next);
    if constexpr (!is_gated) {
      if (lane == 0) store_output<T, rows>(a, output, sums);
    } else {
      float ups[rows];
      sum_output<T, rows>(a, input, of_up, ups);
      if (next < outputs) of_up.ask_for(a, next + outputs);
      if (lane == 0) store_gated<T, rows>(a, output, sums, ups);
    }
  }
}

template <class T, int rows, int runs, bool is_gated>
void launch_few_rows(const few_row_arguments& a, cudaStream_t stream) {
  const int outputs = is_gated ? a.outputs / 2 : a.outputs;
  const int blocks = (outputs + few_row_warps - 1) / few_row_warps;
  const dim3 grid(static_cast<unsigned>(min(blocks, blocks_of_a_multiprocessor * a.multiprocessors)));
  const std::int32_t normed = a.input == nullptr ? a.rows * a.inputs : few_row_run;  // never none
  const std::size_t shared = sizeof(T) * static_cast<std::size_t>(normed);
  TROUPE_LAUNCH_EARLY((few_row_kernel<T, rows, runs, is_gated>), grid, few_row_threads, shared, stream, a);
}

// Small matrices are held in registers: of them each warp has one output or two, and they take less than a
// launch.
template <class T, int rows>
void launch_rows(const few_row_arguments& a, cudaStream_t stream) {
  constexpr int inputs_of_a_run = 32 * few_row_run;
  if (a.kind == few_row_output::gated)
    return a.inputs <= 3 * inputs_of_a_run ? launch_few_rows<T, rows, 3, true>(a, stream)
                                           : launch_few_rows<T, rows, 0, true>(a, stream);
  if (a.inputs <= 3 * inputs_of_a_run) return launch_few_rows<T, rows, 3, false>(a, stream);
  if (a.inputs <= 6 * inputs_of_a_run) return launch_few_rows<T, rows, 6, false>(a, stream);
  launch_few_rows<T, rows, 0, false>(a, stream);
}

}  // namespace

bool can_norm_few_rows(std::int32_t rows, std::int32_t inputs) {
  return 2 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(inputs) + 256 <= most_shared_bytes;
}

void multiply_few_rows(const few_row_arguments& arguments, cudaStream_t stream) {
  if (arguments.rows == 0) return;
  with_element_type(arguments.type, [&](auto element) {
    using type = decltype(element);
    if (arguments.rows == 1) return launch_rows<type, 1>(arguments, stream);
    launch_rows<type, max_few_rows>(arguments, stream);
  });
}

}  // namespace troupe::kernels::cuda
