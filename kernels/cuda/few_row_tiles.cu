#include "kernels/cuda/few_row_tiles.hpp"

#include <algorithm>
#include <array>
#include <iterator>
#include <optional>
#include <utility>

#include "kernels/cuda/few_row_outputs.cuh"
#include "kernels/cuda/mma.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int tiled_warps = 8;
constexpr int tiled_threads = 32 * tiled_warps;
constexpr int tile_rows = 16;
constexpr int tile_outputs = 8;
constexpr int run_inputs = 32;  // that a warp multiplies at a time, 8 neighbours a lane
constexpr std::size_t most_shared = std::size_t{48} << 10;
// Runs of a warp whose weights are held in registers: rows of 768 and 1,536 inputs.
constexpr int few_held = 3;
constexpr int more_held = 6;

// Bytes from a normed row to the next one in shared memory: lanes that read 16 bytes each of two rows meet in
// no bank.
__host__ __device__ constexpr int pitch_of(int inputs) { return 2 * inputs + (inputs % 64 == 0 ? 64 : 0); }

bool has_room_for_normed(int rows, int inputs) {
  return static_cast<std::size_t>(rows) * static_cast<std::size_t>(pitch_of(inputs)) <= most_shared;
}

template <int row_tiles, int output_tiles>
constexpr std::size_t partial_bytes() {
  return sizeof(float2) * tiled_warps * row_tiles * output_tiles * 2 * 32;
}

// Where a lane stands in a tile (mma.cuh): g and t.
__device__ __forceinline__ int lane_group() { return static_cast<int>(threadIdx.x % 32 / 4); }
__device__ __forceinline__ int lane_in_group() { return static_cast<int>(threadIdx.x % 4); }
__device__ __forceinline__ int warp_number() { return static_cast<int>(threadIdx.x / 32); }

// RMSNorm of a block's rows into shared memory, two rows of a warp at a time, as residual_rms_norm() rounds
// them.
template <class T>
__device__ __forceinline__ void norm_rows(const few_row_arguments& a, int first_row, int count,
                                          char* normed) {
  constexpr int at_once = 2;
  const int lane = static_cast<int>(threadIdx.x % 32);
  for (int row = warp_number() * at_once; row < count; row += tiled_warps * at_once) {
    const float* rows[at_once];
    float squares[at_once] = {};
#pragma unroll
    for (int r = 0; r < at_once; r++)
      rows[r] = a.residual + static_cast<std::size_t>(first_row + min(row + r, count - 1)) * a.inputs;
#pragma unroll 5
    for (int i = 4 * lane; i < a.inputs; i += 128) {
#pragma unroll
      for (int r = 0; r < at_once; r++) {
        float x[4];
        load_floats<4>(rows[r] + i, x);
        squares[r] += x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3];
      }
    }
    float scale[at_once];
#pragma unroll
    for (int r = 0; r < at_once; r++)
      scale[r] = rsqrtf(warp_sum(squares[r]) / static_cast<float>(a.inputs) + a.epsilon);
#pragma unroll 5
    for (int i = 4 * lane; i < a.inputs; i += 128) {
      float weight[4];
      load_floats<4>(a.norm_weight + i, weight);
#pragma unroll
      for (int r = 0; r < at_once; r++) {
        if (row + r >= count) break;
        float x[4];
        load_floats<4>(rows[r] + i, x);
#pragma unroll
        for (int j = 0; j < 4; j++) x[j] *= scale[r] * weight[j];
        store_floats<4>(reinterpret_cast<T*>(normed + (row + r) * pitch_of(a.inputs)) + i, x);
      }
    }
  }
}

// A lane's share of the weights of a block's outputs: of each tile one output, 8 inputs of each of its warp's
// runs. Columns of a tile are pairs of outputs side by side, so that a lane has the sums of both.
template <int output_tiles, output_group group>
struct tile_weights {
  const char* rows[output_tiles];

  __device__ __forceinline__ explicit tile_weights(const few_row_arguments& a) {
    using pairs = output_pairs<group>;
#pragma unroll
    for (int n = 0; n < output_tiles; n++) {
      const int pair = min(pair_of_column(n, lane_group()), pairs::count(a) - 1);
      const int first = pairs::first(a, pair);
      const int output = lane_group() % 2 == 0 ? first : pairs::second(a, first);
      rows[n] = static_cast<const char*>(a.weights) +
                2 * (static_cast<std::size_t>(min(output, a.outputs - 1)) * a.inputs + 8 * lane_in_group());
    }
  }
  static __device__ __forceinline__ int pair_of_column(int tile, int column) {
    return (static_cast<int>(blockIdx.x) * output_tiles + tile) * (tile_outputs / 2) + column / 2;
  }
  __device__ __forceinline__ uint4 load(int tile, int run) const {
    return *reinterpret_cast<const uint4*>(rows[tile] + 2 * run_inputs * run);
  }
};

// A block's rows as a lane reads them, in shared or device memory: rows g and g + 8 of each tile. In place of
// those that do not exist the last one is read once more; its sums are not stored.
template <int row_tiles>
struct tile_inputs {
  const char* rows[2 * row_tiles];

  __device__ __forceinline__ tile_inputs(const void* memory, int pitch, int count) {
#pragma unroll
    for (int i = 0; i < 2 * row_tiles; i++)
      rows[i] = static_cast<const char*>(memory) +
                static_cast<std::int64_t>(min(lane_group() + 8 * i, count - 1)) * pitch +
                16 * lane_in_group();
  }
  __device__ __forceinline__ uint4 load(int i, int run) const {
    return *reinterpret_cast<const uint4*>(rows[i] + 2 * run_inputs * run);
  }
};

template <int row_tiles, int output_tiles>
using tile_sums = float[row_tiles][output_tiles][4];

template <class T, int row_tiles, int output_tiles>
__device__ __forceinline__ void add_run(const tile_inputs<row_tiles>& input, int run,
                                        const uint4 (&weights)[output_tiles],
                                        tile_sums<row_tiles, output_tiles>& sums) {
  std::uint32_t b[2][output_tiles][2];
#pragma unroll
  for (int n = 0; n < output_tiles; n++) {
    b[0][n][0] = weights[n].x;
    b[0][n][1] = weights[n].y;
    b[1][n][0] = weights[n].z;
    b[1][n][1] = weights[n].w;
  }
#pragma unroll
  for (int m = 0; m < row_tiles; m++) {
    const uint4 low = input.load(2 * m, run);
    const uint4 high = input.load(2 * m + 1, run);
    const std::uint32_t part[2][4] = {{low.x, high.x, low.y, high.y}, {low.z, high.z, low.w, high.w}};
    multiply_tiles<T, 2, output_tiles>(sums[m], part, b);
  }
}

// The sums of all warps of a pair of outputs of a row, by the thread whose number it has: `unit` counts
// tiles, rows g and g + 8, lanes.
template <int units>
__device__ __forceinline__ float2 sum_of_warps(const float2* partial, int unit) {
  float2 sum = partial[unit];
#pragma unroll
  for (int warp = 1; warp < tiled_warps; warp++) {
    const float2 more = partial[warp * units + unit];
    sum.x += more.x;
    sum.y += more.y;
  }
  return sum;
}

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
  const int first_row = static_cast<int>(blockIdx.y) * row_tiles * tile_rows;
  const int count = min(a.rows - first_row, row_tiles * tile_rows);
  const tile_weights<output_tiles, group> weights(a);
  uint4 of_runs[held == 0 ? 1 : held][output_tiles];
#pragma unroll
  for (int i = 0; i < held; i++) {
#pragma unroll
    for (int n = 0; n < output_tiles; n++)
      of_runs[i][n] = weights.load(n, min(warp_number() + i * tiled_warps, runs - 1));
  }
  if (a.input == nullptr) {
    for (int line = static_cast<int>(threadIdx.x); line * 32 < a.inputs; line += tiled_threads)
      prefetch_line(a.norm_weight + line * 32);
  }
  wait_for_earlier_kernels();

  constexpr int units = row_tiles * output_tiles * 2 * 32;
  constexpr int units_of_thread = (units + tiled_threads - 1) / tiled_threads;
  const auto row_of = [&](int unit) {
    return first_row + unit / (output_tiles * 64) * tile_rows + unit / 32 % 2 * 8 + unit % 32 / 4;
  };
  const auto pair_of = [&](int unit) {
    return tile_weights<output_tiles, group>::pair_of_column(unit / 64 % output_tiles, 2 * (unit % 4));
  };
  pair_ahead ahead[units_of_thread];
#pragma unroll
  for (int i = 0; i < units_of_thread; i++) {
    const int unit = static_cast<int>(threadIdx.x) + i * tiled_threads;
    if (unit < units) ahead[i] = load_ahead<group>(a, row_of(unit), pair_of(unit));
  }

  const void* input = static_cast<const T*>(a.input) + static_cast<std::int64_t>(first_row) * a.inputs;
  int pitch = 2 * a.inputs;
  if (a.input == nullptr) {
    norm_rows<T>(a, first_row, count, shared);
    input = shared;
    pitch = pitch_of(a.inputs);
    __syncthreads();
  }
  const tile_inputs<row_tiles> rows(input, pitch, count);
  tile_sums<row_tiles, output_tiles> sums = {};
  if constexpr (held > 0) {
#pragma unroll
    for (int i = 0; i < held; i++) {
      const int run = warp_number() + i * tiled_warps;
      if (run < runs) add_run<T, row_tiles, output_tiles>(rows, run, of_runs[i], sums);
    }
  } else {
#pragma unroll 4
    for (int run = warp_number(); run < runs; run += tiled_warps) {
#pragma unroll
      for (int n = 0; n < output_tiles; n++) of_runs[0][n] = weights.load(n, run);
      add_run<T, row_tiles, output_tiles>(rows, run, of_runs[0], sums);
    }
  }

  if (a.input == nullptr) __syncthreads();  // the sums lie where the rows were
  float2* const partial = reinterpret_cast<float2*>(shared);
  const int lane = static_cast<int>(threadIdx.x % 32);
#pragma unroll
  for (int m = 0; m < row_tiles; m++) {
#pragma unroll
    for (int n = 0; n < output_tiles; n++) {
      float2* const at = partial + warp_number() * units + (m * output_tiles + n) * 64 + lane;
      at[0] = make_float2(sums[m][n][0], sums[m][n][1]);
      at[32] = make_float2(sums[m][n][2], sums[m][n][3]);
    }
  }
  __syncthreads();
#pragma unroll
  for (int i = 0; i < units_of_thread; i++) {
    const int unit = static_cast<int>(threadIdx.x) + i * tiled_threads;
    if (unit >= units) break;
    const float2 sum = sum_of_warps<units>(partial, unit);
    store_pair<T, group>(a, row_of(unit), pair_of(unit), sum.x, sum.y, ahead[i]);
  }
}

template <class T, int row_tiles, int output_tiles, int held, output_group group>
void launch_held(const few_row_arguments& a, cudaStream_t stream) {
  constexpr int rows_of_block = row_tiles * tile_rows;
  constexpr int outputs_of_block = output_tiles * tile_outputs;
  const int normed_rows = a.input == nullptr ? min(a.rows, rows_of_block) : 0;
  const std::size_t shared =
      std::max(static_cast<std::size_t>(normed_rows) * static_cast<std::size_t>(pitch_of(a.inputs)),
               partial_bytes<row_tiles, output_tiles>());
  const dim3 grid(static_cast<unsigned>((a.outputs + outputs_of_block - 1) / outputs_of_block),
                  static_cast<unsigned>((a.rows + rows_of_block - 1) / rows_of_block));
  const auto kernel = row_tiles_kernel<T, row_tiles, output_tiles, held, group>;
  // What the host has not asked for by name ends at 48 KB.
  if (shared > most_shared) {
    cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize,
                         static_cast<int>(shared));
  }
  TROUPE_LAUNCH_EARLY(kernel, grid, tiled_threads, shared, stream, a);
}

// How many tiles of rows and of outputs a block has.
struct block_shape {
  int row_tiles;
  int output_tiles;
};

constexpr block_shape block_shapes[] = {{1, 1}, {1, 2}, {1, 4}, {2, 1}, {2, 2}, {2, 4}, {4, 4}};

int runs_of_warp(const few_row_arguments& a) {
  return (a.inputs / run_inputs + tiled_warps - 1) / tiled_warps;
}

// Runs whose weights are held, as row_tiles_kernel has them. The products with the longest rows of small
// models are a block's last, which add to the residual stream.
int held_runs(const few_row_arguments& a, int output_tiles) {
  const bool is_apart = a.kind != few_row_output::gated && a.kind != few_row_output::rotated;
  if (runs_of_warp(a) <= few_held) return few_held;
  return is_apart && output_tiles < 4 && runs_of_warp(a) <= more_held ? more_held : 0;
}

// What a multiprocessor reads, in rows of inputs: of rows, for their norm too, and of weights, which count
// twice where they are not on the way before the rows are there. None where rows that are normed have no
// room.
std::optional<int> cost_of(const block_shape& shape, const few_row_arguments& a) {
  const int tiles_of_rows = (a.rows + tile_rows - 1) / tile_rows;
  const int tiles_of_outputs = (a.outputs + tile_outputs - 1) / tile_outputs;
  const bool is_normed = a.input == nullptr;
  if (shape.row_tiles > 1 && shape.row_tiles >= 2 * tiles_of_rows) return std::nullopt;
  if (is_normed && !has_room_for_normed(min(a.rows, shape.row_tiles * tile_rows), a.inputs))
    return std::nullopt;
  const int blocks = (tiles_of_rows + shape.row_tiles - 1) / shape.row_tiles *
                     ((tiles_of_outputs + shape.output_tiles - 1) / shape.output_tiles);
  const int rounds = (blocks + a.multiprocessors - 1) / a.multiprocessors;
  const int rows_read = min(shape.row_tiles, tiles_of_rows) * tile_rows * (is_normed ? 3 : 1);
  const int weights_read = shape.output_tiles * tile_outputs * (held_runs(a, shape.output_tiles) > 0 ? 1 : 2);
  return rounds * (rows_read + weights_read);
}

// The variant's place among the shapes in the order of their costs; the last where there are not so many.
block_shape choose_block_shape(const few_row_arguments& a) {
  std::array<std::pair<int, block_shape>, std::size(block_shapes)> possible;
  int count = 0;
  for (const block_shape& shape : block_shapes) {
    if (const std::optional<int> cost = cost_of(shape, a))
      possible[static_cast<std::size_t>(count++)] = {*cost, shape};
  }
  std::stable_sort(possible.begin(), possible.begin() + count,
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  const int place = static_cast<int>(a.variant) - static_cast<int>(few_row_variant::tiles);
  return possible[static_cast<std::size_t>(min(place, count - 1))].second;
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
  return !is_normed ||
         static_cast<std::size_t>(min(rows, 2 * tile_rows)) * static_cast<std::size_t>(pitch_of(inputs)) <=
             most_shared;
}

void multiply_row_tiles(const few_row_arguments& arguments, cudaStream_t stream) {
  with_element_type(arguments.type, [&](auto element) {
    using type = decltype(element);
    with_output_group(arguments.kind,
                      [&](auto group) { launch_shape<type, group.value>(arguments, stream); });
  });
}

}  // namespace troupe::kernels::cuda
