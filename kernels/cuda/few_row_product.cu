#include "kernels/cuda/few_row_product.hpp"

#include "kernels/cuda/few_row_outputs.cuh"
#include "kernels/cuda/few_row_sums.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr std::size_t most_shared_bytes = std::size_t{48} << 10;
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

// Blocks that a multiprocessor holds: what the registers leave room for.
template <int rows, int runs, few_row_output kind>
constexpr int few_row_residents() {
  const bool holds_more =
      runs > few_runs || kind == few_row_output::rotated || (kind == few_row_output::gated && rows > 1);
  return holds_more ? 2 : 3;
}

// Small matrices: each warp has an output or two, and they take less than a launch. So the weights are loaded
// while the kernel before ends, and held in registers.
template <class T, int rows, int runs, few_row_output kind>
__global__ void __launch_bounds__(few_row_threads, (few_row_residents<rows, runs, kind>()))
    few_row_kernel(few_row_arguments a) {
  TROUPE_SHARED(float, partial, [few_row_warps]);
  TROUPE_DYNAMIC_SHARED(T, normed);
  let_later_kernels_begin();
  using pairs = output_pairs<kind>;
  const int count = pairs::count(a);
  held_weights<T, runs> of_first, of_second;
  const auto ask_for = [&](int output) {
    if (output >= count) return;
    const int first = pairs::first(a, output);
    of_first.ask_for(a, first);
    if constexpr (pairs::are_pairs) of_second.ask_for(a, pairs::second(a, first));
  };
  ask_for(first_output());
  wait_for_earlier_kernels();
  const T* const input = input_rows<T>(a, normed, partial);
  for (int output = first_output(); output < count; output += outputs_at_once()) {
    pair_turn turn;
    if constexpr (kind == few_row_output::rotated) turn = load_turn(a, output);
    float sums[rows];
    of_first.template sum<rows>(a, input, sums);
    if constexpr (pairs::are_pairs) {
      float seconds[rows];
      of_second.template sum<rows>(a, input, seconds);
      ask_for(output + outputs_at_once());
      store_pair<T, rows, kind>(a, output, sums, seconds, turn);
    } else {
      ask_for(output + outputs_at_once());
      store_output<T, rows, kind>(a, output, sums);
    }
  }
}

// Larger ones: bandwidth is what counts, of which a kernel that already waits beside this one took more than
// it saved.
template <class T, int rows, few_row_output kind>
__global__ void __launch_bounds__(few_row_threads, 4) few_row_stream_kernel(few_row_arguments a) {
  TROUPE_SHARED(float, partial, [few_row_warps]);
  TROUPE_DYNAMIC_SHARED(T, normed);
  using pairs = output_pairs<kind>;
  const T* const input = input_rows<T>(a, normed, partial);
  for (int output = first_output(); output < pairs::count(a); output += outputs_at_once()) {
    const int first = pairs::first(a, output);
    float sums[rows];
    sum_streamed<T, rows>(a, input, first, sums);
    if constexpr (pairs::are_pairs) {
      float seconds[rows];
      sum_streamed<T, rows>(a, input, pairs::second(a, first), seconds);
      pair_turn turn;
      if constexpr (kind == few_row_output::rotated) turn = load_turn(a, output);
      store_pair<T, rows, kind>(a, output, sums, seconds, turn);
    } else {
      store_output<T, rows, kind>(a, output, sums);
    }
  }
}

template <class T, int rows, few_row_output kind>
void launch_kind(const few_row_arguments& a, cudaStream_t stream) {
  const int outputs = output_pairs<kind>::are_pairs ? a.outputs / 2 : a.outputs;
  const int blocks = (outputs + few_row_warps - 1) / few_row_warps;
  const dim3 grid(static_cast<unsigned>(min(blocks, blocks_of_a_multiprocessor * a.multiprocessors)));
  const std::int32_t normed = a.input == nullptr ? a.rows * a.inputs : few_row_run;  // never none
  const std::size_t shared = sizeof(T) * static_cast<std::size_t>(normed);
  constexpr int inputs_of_a_run = 32 * few_row_run;
  if (a.inputs <= few_runs * inputs_of_a_run) {
    TROUPE_LAUNCH_EARLY((few_row_kernel<T, rows, few_runs, kind>), grid, few_row_threads, shared, stream, a);
    return;
  }
  // The products with the longest rows of small models are a block's last, which add to the residual stream.
  if constexpr (kind == few_row_output::add_to_f32) {
    if (a.inputs <= more_runs * inputs_of_a_run) {
      TROUPE_LAUNCH_EARLY((few_row_kernel<T, rows, more_runs, kind>), grid, few_row_threads, shared, stream,
                          a);
      return;
    }
  }
  TROUPE_LAUNCH((few_row_stream_kernel<T, rows, kind>), grid, few_row_threads, shared, stream, a);
}

template <class T, int rows>
void launch_rows(const few_row_arguments& a, cudaStream_t stream) {
  switch (a.kind) {
    case few_row_output::rounded:
      return launch_kind<T, rows, few_row_output::rounded>(a, stream);
    case few_row_output::f32:
      return launch_kind<T, rows, few_row_output::f32>(a, stream);
    case few_row_output::add_to_f32:
      return launch_kind<T, rows, few_row_output::add_to_f32>(a, stream);
    case few_row_output::gated:
      return launch_kind<T, rows, few_row_output::gated>(a, stream);
    case few_row_output::rotated:
      return launch_kind<T, rows, few_row_output::rotated>(a, stream);
  }
}

}  // namespace

bool can_norm_few_rows(std::int32_t rows, std::int32_t inputs) {
  return 2 * static_cast<std::size_t>(rows) * static_cast<std::size_t>(inputs) + 256 <= most_shared_bytes;
}

bool can_rotate_few_rows(const rotate_and_store_arguments& rotation) {
  const kv_element same = rotation.type == element_type::bf16 ? kv_element::bf16 : kv_element::fp16;
  return rotation.query_norm == nullptr && rotation.key_norm == nullptr &&
         rotation.rope_dim == rotation.kv.head_dim && rotation.kv.element == same;
}

void multiply_few_rows(const few_row_arguments& arguments, cudaStream_t stream) {
  if (arguments.rows == 0) return;
  with_element_type(arguments.type, [&](auto element) {
    using type = decltype(element);
    if (arguments.rows == 1) return launch_rows<type, 1>(arguments, stream);
    if (arguments.rows == 2) return launch_rows<type, 2>(arguments, stream);
    launch_rows<type, max_few_rows>(arguments, stream);
  });
}

}  // namespace troupe::kernels::cuda
