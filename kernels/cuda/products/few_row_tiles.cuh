// What few_row_tiles.cu multiplies: a block's rows, as they are or normed, and the weights of its outputs, as
// lanes hold them (mma.cuh); and who stores which of the sums.
#pragma once
#include "kernels/cuda/products/few_row_outputs.cuh"
#include "kernels/cuda/mma.cuh"

namespace troupe::kernels::cuda {

inline constexpr int tiled_warps = 8;
inline constexpr int tiled_threads = 32 * tiled_warps;
inline constexpr int tile_rows = 16;
inline constexpr int few_row_tile_outputs = 8;
inline constexpr int run_inputs = 32;  // that a warp multiplies at a time, 8 neighbours a lane

// Bytes from a normed row to the next one in shared memory: lanes that read 16 bytes each of two rows meet in
// no bank.
__host__ __device__ constexpr int pitch_of_normed(int inputs) {
  return 2 * inputs + (inputs % 64 == 0 ? 64 : 0);
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
        store_floats<4>(reinterpret_cast<T*>(normed + (row + r) * pitch_of_normed(a.inputs)) + i, x);
      }
    }
  }
}

// A lane's share of the weights of a block's outputs: of each tile one output, 8 inputs of each of its warp's
// runs. Columns of a tile are pairs of outputs side by side, so that a lane has the sums of both.
template <int output_tiles, output_group group>
struct weights_of_outputs {
  const char* rows[output_tiles];

  __device__ __forceinline__ explicit weights_of_outputs(const few_row_arguments& a) {
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
    return (static_cast<int>(blockIdx.x) * output_tiles + tile) * (few_row_tile_outputs / 2) + column / 2;
  }
  __device__ __forceinline__ void load(int run, uint4 (&loaded)[output_tiles]) const {
#pragma unroll
    for (int n = 0; n < output_tiles; n++)
      loaded[n] = *reinterpret_cast<const uint4*>(rows[n] + 2 * run_inputs * run);
  }
};

// A block's rows as a lane reads them, in shared or device memory: rows g and g + 8 of each tile. In place of
// those that do not exist the last one is read once more; its sums are not stored.
template <int row_tiles>
struct inputs_of_rows {
  const char* rows[2 * row_tiles];

  __device__ __forceinline__ inputs_of_rows(const void* memory, int pitch, int count) {
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
using few_row_sums = float[row_tiles][output_tiles][4];

template <class T, int row_tiles, int output_tiles>
__device__ __forceinline__ void add_run(const inputs_of_rows<row_tiles>& input, int run,
                                        const uint4 (&weights)[output_tiles],
                                        few_row_sums<row_tiles, output_tiles>& sums) {
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

// The sums that a block stores, by the thread that does: pairs of outputs of a row, counted by tiles, rows g
// and g + 8, and lanes.
template <int row_tiles, int output_tiles, output_group group>
struct stored_pairs {
  static constexpr int count = row_tiles * output_tiles * 2 * 32;
  static constexpr int of_a_thread = (count + tiled_threads - 1) / tiled_threads;

  static __device__ __forceinline__ int row(int number) {
    return static_cast<int>(blockIdx.y) * row_tiles * tile_rows + number / (output_tiles * 64) * tile_rows +
           number / 32 % 2 * 8 + number % 32 / 4;
  }
  static __device__ __forceinline__ int pair(int number) {
    return weights_of_outputs<output_tiles, group>::pair_of_column(number / 64 % output_tiles,
                                                                   2 * (number % 4));
  }
  // Calls visit(i, number) for each i-th pair of the thread.
  template <class Visit>
  static __device__ __forceinline__ void visit_own(Visit visit) {
#pragma unroll
    for (int i = 0; i < of_a_thread; i++) {
      const int number = static_cast<int>(threadIdx.x) + i * tiled_threads;
      if (number < count) visit(i, number);
    }
  }
};

// A warp's sums to shared memory, [warps][pairs].
template <int row_tiles, int output_tiles>
__device__ __forceinline__ void keep_sums(const few_row_sums<row_tiles, output_tiles>& sums,
                                          float2* partial) {
  float2* const own = partial + warp_number() * row_tiles * output_tiles * 64 + threadIdx.x % 32;
#pragma unroll
  for (int m = 0; m < row_tiles; m++) {
#pragma unroll
    for (int n = 0; n < output_tiles; n++) {
      float2* const at = own + (m * output_tiles + n) * 64;
      at[0] = make_float2(sums[m][n][0], sums[m][n][1]);
      at[32] = make_float2(sums[m][n][2], sums[m][n][3]);
    }
  }
}

// The sums of all warps of one pair, in order.
template <int pairs>
__device__ __forceinline__ float2 sum_of_warps(const float2* partial, int number) {
  float2 sum = partial[number];
#pragma unroll
  for (int warp = 1; warp < tiled_warps; warp++) {
    const float2 more = partial[warp * pairs + number];
    sum.x += more.x;
    sum.y += more.y;
  }
  return sum;
}

}  // namespace troupe::kernels::cuda
