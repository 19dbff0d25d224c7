#include "kernels/cuda/products/few_row_product.hpp"

#include "kernels/cuda/products/few_row_outputs.cuh"
#include "kernels/cuda/products/few_row_sums.cuh"
#include "kernels/cuda/products/few_row_tiles.hpp"
#include "kernels/cuda/shared_bytes.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr std::int32_t max_lane_rows = 4;
constexpr int blocks_of_a_multiprocessor = 8;
// Loads of a lane that are held in registers: rows of 768 and 1,536 inputs.
constexpr int few_runs = 3;
constexpr int more_runs = 6;

__device__ __forceinline__ int first_output() {
  return static_cast<int>(blockIdx.x * few_row_warps + threadIdx.x / 32);
}
__device__ __forceinline__ int outputs_at_once() { return static_cast<int>(gridDim.x) * few_row_warps; }

// The rows that are multiplied: as they are, or normed.
template <class T>
__device__ __forceinline__ const T* input_rows(const few_row_arguments& a, T* normed, float* partial) {
  if (a.input != nullptr) return static_cast<const T*>(a.input);
  norm_few_rows<T>(a, normed, partial);
  return normed;
}

// What a warp computes at a time: outputs, or pairs that belong together.
template <output_group group>
__host__ __device__ __forceinline__ int outputs_of_warps(const few_row_arguments& a) {
  return group == output_group::apart ? a.outputs : a.outputs / 2;
}

// For one of these.
template <output_group group>
__device__ __forceinline__ pair_ahead load_ahead_of(const few_row_arguments& a, int row, int output) {
  if constexpr (group != output_group::apart) return load_ahead<group>(a, row, output);
  return {load_addend(a, row, output), 0.0F, -1};
}

// The sum of the lane's row: the lanes of the first `rows` rows have one each.
template <int rows>
__device__ __forceinline__ float sum_of_lane(const float (&sums)[rows]) {
  float sum = sums[0];
#pragma unroll
  for (int row = 1; row < rows; row++) sum = static_cast<int>(threadIdx.x % 32) == row ? sums[row] : sum;
  return sum;
}

// Blocks that a multiprocessor holds: what the registers leave room for.
template <int rows, int runs, output_group group>
constexpr int few_row_residents() {
  const bool holds_more =
      runs > few_runs || group == output_group::rotated || (group == output_group::gated && rows > 1);
  return holds_more ? 2 : 3;
}

// Small matrices: each warp has an output or two, and they take less than a launch. So the weights are loaded
// while the kernel before ends, and held in registers.
template <class T, int rows, int runs, output_group group>
__global__ void __launch_bounds__(few_row_threads, (few_row_residents<rows, runs, group>()))
    few_row_kernel(few_row_arguments a) {
  TROUPE_SHARED(float, partial, [rows * few_row_warps]);
  TROUPE_DYNAMIC_SHARED(T, normed);
  let_later_kernels_begin();
  using pairs = output_pairs<group>;
  constexpr bool are_pairs = group != output_group::apart;
  const int count = outputs_of_warps<group>(a);
  held_weights<T, runs> of_first, of_second;
  const auto ask_for = [&](int output) {
    if (output >= count) return;
    const int first = are_pairs ? pairs::first(a, output) : output;
    of_first.ask_for(a, first);
    if constexpr (are_pairs) of_second.ask_for(a, pairs::second(a, first));
  };
  ask_for(first_output());
  held_norm<runs> norm;
  if (a.input == nullptr) norm.ask_for(a);
  wait_for_earlier_kernels();
  const T* input = static_cast<const T*>(a.input);
  if (input == nullptr) {
    norm.template norm<T, rows>(a, normed, partial);
    input = normed;
  }
  const int row = static_cast<int>(threadIdx.x % 32);  // of which this lane stores the outputs
  for (int output = first_output(); output < count; output += outputs_at_once()) {
    const auto ahead = load_ahead_of<group>(a, row, output);
    float sums[rows];
    of_first.template sum<rows>(a, input, sums);
    if constexpr (are_pairs) {
      float seconds[rows];
      of_second.template sum<rows>(a, input, seconds);
      ask_for(output + outputs_at_once());
      store_pair<T, group>(a, row, output, sum_of_lane<rows>(sums), sum_of_lane<rows>(seconds), ahead);
    } else {
      ask_for(output + outputs_at_once());
      store_output<T>(a, row, output, sum_of_lane<rows>(sums), ahead.first);
    }
  }
}

// As many as there are places for on a multiprocessor. For compute capability 12.x ptxas has need of a few
// registers more than the 64 that four blocks leave to a thread, and would keep them in memory.
template <int rows, output_group group>
constexpr int stream_residents() {
  if (rows > 1 && group != output_group::apart) return 3;
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 1200
  if (rows > 1) return 3;
#endif
  return 4;
}

// Larger ones: bandwidth is what counts, of which a kernel that already waits beside this one took more than
// it saved.
template <class T, int rows, output_group group>
__global__ void __launch_bounds__(few_row_threads, (stream_residents<rows, group>()))
    few_row_stream_kernel(few_row_arguments a) {
  TROUPE_SHARED(float, partial, [few_row_warps]);
  TROUPE_DYNAMIC_SHARED(T, normed);
  using pairs = output_pairs<group>;
  constexpr bool are_pairs = group != output_group::apart;
  if (a.input == nullptr && first_output() < outputs_of_warps<group>(a)) {
    // On their way while the rows are normed, which takes two trips to the memory and two barriers.
    const int first = are_pairs ? pairs::first(a, first_output()) : first_output();
    ask_for_weights<T>(a, first);
    if constexpr (are_pairs) ask_for_weights<T>(a, pairs::second(a, first));
  }
  const T* const input = input_rows<T>(a, normed, partial);
  const int row = static_cast<int>(threadIdx.x % 32);
  for (int output = first_output(); output < outputs_of_warps<group>(a); output += outputs_at_once()) {
    const int first = are_pairs ? pairs::first(a, output) : output;
    const auto ahead = load_ahead_of<group>(a, row, output);
    float sums[rows];
    sum_streamed<T, rows>(a, input, first, sums);
    if constexpr (are_pairs) {
      float seconds[rows];
      sum_streamed<T, rows>(a, input, pairs::second(a, first), seconds);
      store_pair<T, group>(a, row, output, sum_of_lane<rows>(sums), sum_of_lane<rows>(seconds), ahead);
    } else {
      store_output<T>(a, row, output, sum_of_lane<rows>(sums), ahead.first);
    }
  }
}

template <class T, int rows, output_group group>
void launch_group(const few_row_arguments& a, cudaStream_t stream) {
  const int blocks = (outputs_of_warps<group>(a) + few_row_warps - 1) / few_row_warps;
  const dim3 grid(static_cast<unsigned>(min(blocks, blocks_of_a_multiprocessor * a.multiprocessors)));
  const std::int32_t normed = a.input == nullptr ? a.rows * a.inputs : few_row_run;  // never none
  const std::size_t shared = sizeof(T) * static_cast<std::size_t>(normed);
  constexpr int inputs_of_a_run = 32 * few_row_run;
  if (a.inputs <= few_runs * inputs_of_a_run) {
    TROUPE_LAUNCH_EARLY((few_row_kernel<T, rows, few_runs, group>), grid, few_row_threads, shared, stream, a);
    return;
  }
  // The products with the longest rows of small models are a block's last, which add to the residual stream.
  if constexpr (group == output_group::apart) {
    if (a.inputs <= more_runs * inputs_of_a_run) {
      TROUPE_LAUNCH_EARLY((few_row_kernel<T, rows, more_runs, group>), grid, few_row_threads, shared, stream,
                          a);
      return;
    }
  }
  TROUPE_LAUNCH((few_row_stream_kernel<T, rows, group>), grid, few_row_threads, shared, stream, a);
}

template <class T, int rows>
void launch_rows(const few_row_arguments& a, cudaStream_t stream) {
  with_output_group(a.kind, [&](auto group) { launch_group<T, rows, group.value>(a, stream); });
}

}  // namespace

bool can_multiply_few_rows(few_row_variant variant, std::int32_t rows, std::int32_t inputs, bool is_normed) {
  if (variant != few_row_variant::lanes) return can_multiply_row_tiles(rows, inputs, is_normed);
  return rows <= max_lane_rows && inputs % few_row_run == 0 &&
         (!is_normed || 2 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(inputs) + 256 <=
                            shared_without_asking);
}

bool can_rotate_few_rows(const rotate_and_store_arguments& rotation) {
  const kv_element same = rotation.type == element_type::bf16 ? kv_element::bf16 : kv_element::fp16;
  return rotation.query_norm == nullptr && rotation.key_norm == nullptr &&
         rotation.rope_dim == rotation.kv.head_dim && rotation.kv.element == same;
}

void multiply_few_rows(const few_row_arguments& arguments, cudaStream_t stream) {
  if (arguments.rows == 0) return;
  if (arguments.variant != few_row_variant::lanes) return multiply_row_tiles(arguments, stream);
  with_element_type(arguments.type, [&](auto element) {
    using type = decltype(element);
    if (arguments.rows == 1) return launch_rows<type, 1>(arguments, stream);
    if (arguments.rows == 2) return launch_rows<type, 2>(arguments, stream);
    launch_rows<type, max_lane_rows>(arguments, stream);
  });
}

}  // namespace troupe::kernels::cuda
