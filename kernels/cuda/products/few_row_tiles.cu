#include "kernels/cuda/products/few_row_tiles.hpp"

#include "kernels/cuda/products/few_row_shapes.cuh"
#include "kernels/cuda/products/few_row_tiles.cuh"

namespace troupe::kernels::cuda {
namespace {

// Blocks that a multiprocessor holds: what the registers leave room for.
template <int row_tiles, int output_tiles, int held>
constexpr int row_tiles_residents() {
  return held == 0 || row_tiles * output_tiles > 4 || held * output_tiles > 9 ? 1 : 2;
}

// `held`: runs of a warp whose weights are on the way before the rows are there; 0: rows have more, and
// weights are loaded as they are used.
template <class T, int row_tiles, int output_tiles, int held, output_group group>
__global__ void __launch_bounds__(tiled_threads, (row_tiles_residents<row_tiles, output_tiles, held>()))
    row_tiles_kernel(few_row_arguments a) {
  TROUPE_DYNAMIC_SHARED(char, shared);  // normed rows, then the sums of each warp
  let_later_kernels_begin();
  const int runs = a.inputs / run_inputs;
  const weights_of_outputs<output_tiles, group> weights(a);
  uint4 of_runs[held == 0 ? 1 : held][output_tiles];
#pragma unroll
  for (int i = 0; i < held; i++) weights.load(min(warp_number() + i * tiled_warps, runs - 1), of_runs[i]);
  if (a.input == nullptr) {
    for (int line = static_cast<int>(threadIdx.x); line * 32 < a.inputs; line += tiled_threads)
      prefetch_line(a.norm_weight + line * 32);
  }
  wait_for_earlier_kernels();

  using stored = stored_pairs<row_tiles, output_tiles, group>;
  pair_ahead ahead[stored::of_a_thread];
  stored::visit_own(
      [&](int i, int number) { ahead[i] = load_ahead<group>(a, stored::row(number), stored::pair(number)); });
  const int first_row = stored::row(0);
  const int count = min(a.rows - first_row, row_tiles * tile_rows);
  const bool norms = a.input == nullptr;
  if (norms) {
    norm_rows<T>(a, first_row, count, shared);
    __syncthreads();
  }
  const inputs_of_rows<row_tiles> rows =
      norms ? inputs_of_rows<row_tiles>(shared, pitch_of_normed(a.inputs), count)
            : inputs_of_rows<row_tiles>(static_cast<const T*>(a.input) + std::int64_t{first_row} * a.inputs,
                                        2 * a.inputs, count);
  few_row_sums<row_tiles, output_tiles> sums = {};
#pragma unroll
  for (int i = 0; i < held; i++) {
    const int run = warp_number() + i * tiled_warps;
    if (run < runs) add_run<T, row_tiles, output_tiles>(rows, run, of_runs[i], sums);
  }
  if constexpr (held == 0) {
#pragma unroll 4
    for (int run = warp_number(); run < runs; run += tiled_warps) {
      weights.load(run, of_runs[0]);
      add_run<T, row_tiles, output_tiles>(rows, run, of_runs[0], sums);
    }
  }
  if (norms) __syncthreads();  // the sums lie where the rows were
  auto* const partial = reinterpret_cast<float2*>(shared);
  keep_sums<row_tiles, output_tiles>(sums, partial);
  __syncthreads();
  stored::visit_own([&](int i, int number) {
    const float2 sum = sum_of_warps<stored::count>(partial, number);
    store_pair<T, group>(a, stored::row(number), stored::pair(number), sum.x, sum.y, ahead[i]);
  });
}

template <class T, int row_tiles, int output_tiles, int held, output_group group>
void launch_held(const few_row_arguments& a, cudaStream_t stream) {
  constexpr int rows_of_block = row_tiles * tile_rows;
  constexpr int outputs_of_block = output_tiles * few_row_tile_outputs;
  const int normed_rows = a.input == nullptr ? min(a.rows, rows_of_block) : 0;
  const std::size_t shared =
      std::max(static_cast<std::size_t>(normed_rows) * static_cast<std::size_t>(pitch_of_normed(a.inputs)),
               sizeof(float2) * tiled_warps * stored_pairs<row_tiles, output_tiles, group>::count);
  const dim3 grid(static_cast<unsigned>((a.outputs + outputs_of_block - 1) / outputs_of_block),
                  static_cast<unsigned>((a.rows + rows_of_block - 1) / rows_of_block));
  const auto kernel = row_tiles_kernel<T, row_tiles, output_tiles, held, group>;
  ask_for_shared_bytes(kernel, shared);
  TROUPE_LAUNCH_EARLY(kernel, grid, tiled_threads, shared, stream, a);
}

template <class T, int row_tiles, int output_tiles, output_group group>
void launch_tiles(const few_row_arguments& a, cudaStream_t stream) {
  const int held = held_runs(a, output_tiles);
  if (held == few_held) return launch_held<T, row_tiles, output_tiles, few_held, group>(a, stream);
  if constexpr (group == output_group::apart && output_tiles < 4) {
    if (held == more_held) return launch_held<T, row_tiles, output_tiles, more_held, group>(a, stream);
  }
  launch_held<T, row_tiles, output_tiles, 0, group>(a, stream);
}

template <class T, output_group group>
void launch_shape(const few_row_arguments& a, cudaStream_t stream) {
  const block_shape shape = choose_block_shape(a);
  const auto is = [&](int row_tiles, int output_tiles) {
    return shape.row_tiles == row_tiles && shape.output_tiles == output_tiles;
  };
  if (is(1, 1)) return launch_tiles<T, 1, 1, group>(a, stream);
  if (is(1, 2)) return launch_tiles<T, 1, 2, group>(a, stream);
  if (is(2, 1)) return launch_tiles<T, 2, 1, group>(a, stream);
  if (is(2, 2)) return launch_tiles<T, 2, 2, group>(a, stream);
  if (is(2, 4)) return launch_tiles<T, 2, 4, group>(a, stream);
  if (is(4, 4)) return launch_tiles<T, 4, 4, group>(a, stream);
  launch_tiles<T, 1, 4, group>(a, stream);
}

}  // namespace

bool can_multiply_row_tiles(std::int32_t rows, std::int32_t inputs, bool is_normed) {
  if (rows > max_few_rows || inputs % run_inputs != 0) return false;
  return !is_normed || has_room_for_normed(min(rows, tile_rows), inputs);
}

void multiply_row_tiles(const few_row_arguments& arguments, cudaStream_t stream) {
  with_element_type(arguments.type, [&](auto element) {
    using type = decltype(element);
    with_output_group(arguments.kind,
                      [&](auto group) { launch_shape<type, group.value>(arguments, stream); });
  });
}

}  // namespace troupe::kernels::cuda
