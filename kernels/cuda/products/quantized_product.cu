#include "kernels/cuda/products/quantized_product.hpp"

#include "kernels/cuda/mma.cuh"
#include "kernels/cuda/products/tiled_unit.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int product_warps = 8;
constexpr int product_threads = product_warps * 32;

// The activations of one unit as a lane multiplies them: four of each half of each group, of the rows g, g
// + 8.
template <int RowTiles>
struct unit_input {
  std::uint32_t pairs[2][2][1][RowTiles][2];  // [group][half][1][rows g + 8 * tile][pair]

  __device__ void load(const quantized_product& product, std::int32_t unit, unsigned lane) {
    const auto* input = static_cast<const __nv_bfloat16*>(product.input);
#pragma unroll
    for (int tile = 0; tile < RowTiles; ++tile) {
      const auto row = static_cast<std::int32_t>(lane / 4) + tile * 8;
#pragma unroll
      for (int part = 0; part < 4; ++part) {
        const std::int32_t first = unit * unit_inputs + part * 16 + static_cast<std::int32_t>(lane % 4) * 4;
        uint2 four = make_uint2(0, 0);
        if (row < product.rows && first < product.weights.inputs)
          four = *reinterpret_cast<const uint2*>(input + row * product.input_stride + first);
        pairs[part / 2][part % 2][0][tile][0] = four.x;
        pairs[part / 2][part % 2][0][tile][1] = four.y;
      }
    }
  }
};

// Sums of a tile of 16 outputs: [8 rows][of the output g: rows 2t, 2t + 1; of g + 8 the same].
template <int RowTiles>
struct tile_sums {
  float of[RowTiles][4] = {};

  __device__ void add_scaled(const float (&part)[RowTiles][4], float first, float second) {
#pragma unroll
    for (int tile = 0; tile < RowTiles; ++tile) {
#pragma unroll
      for (int i = 0; i < 4; ++i) of[tile][i] = __fmaf_rn(i < 2 ? first : second, part[tile][i], of[tile][i]);
    }
  }
};

// The sums of a group's activations, in the places of the products: those of a matrix of ones.
template <int RowTiles>
__device__ void sum_inputs(const unit_input<RowTiles>& input, int group, float (&sums)[RowTiles][4]) {
  constexpr std::uint32_t ones = 0x3F803F80U;
  const std::uint32_t fragments[1][4] = {{ones, ones, ones, ones}};
#pragma unroll
  for (int half = 0; half < 2; ++half)
    multiply_tiles<__nv_bfloat16, 1, RowTiles>(sums, fragments, input.pairs[group][half]);
}

template <weight_kind Kind, int RowTiles>
__device__ void add_group(const tiled_unit<Kind>& unit, const unit_input<RowTiles>& input, int group,
                          const float (&input_sums)[RowTiles][4], tile_sums<RowTiles>& sums) {
  const float2 first = unit.scales_of(group, 0);
  const float2 second = unit.scales_of(group, 1);
  float part[RowTiles][4] = {};
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const std::uint32_t fragments[1][4] = {{unit.pair_of(group, 0, half, 0), unit.pair_of(group, 1, half, 0),
                                            unit.pair_of(group, 0, half, 1),
                                            unit.pair_of(group, 1, half, 1)}};
    if constexpr (tiled_unit<Kind>::has_halves) {
      float own[RowTiles][4] = {};
      multiply_tiles<__nv_bfloat16, 1, RowTiles>(own, fragments, input.pairs[group][half]);
      sums.add_scaled(own, half == 0 ? first.x : first.y, half == 0 ? second.x : second.y);
    } else {
      multiply_tiles<__nv_bfloat16, 1, RowTiles>(part, fragments, input.pairs[group][half]);
    }
  }
  if constexpr (!tiled_unit<Kind>::has_halves) sums.add_scaled(part, first.x, second.x);
  if constexpr (tiled_unit<Kind>::has_minimum) sums.add_scaled(input_sums, first.y, second.y);
}

__device__ void put(const quantized_product& product, std::int32_t row, std::int32_t output, float value) {
  const std::int64_t at = row * product.output_stride + output;
  switch (product.kind) {
    case product_output::bf16:
      static_cast<__nv_bfloat16*>(product.output)[at] = __float2bfloat16_rn(value);
      break;
    case product_output::f32:
      static_cast<float*>(product.output)[at] = value;
      break;
    case product_output::add_to_f32:
      static_cast<float*>(product.output)[at] += value;
      break;
  }
}

// The warps' sums are added in their order. Rows stand 4 floats further apart than they are long, so that the
// lanes' stores meet no bank twice.
template <int RowTiles, int Tiles>
__device__ void add_warps(const quantized_product& product, const tile_sums<RowTiles> (&sums)[Tiles],
                          std::int32_t first_output) {
  constexpr int rows = RowTiles * 8;
  constexpr int outputs = Tiles * tile_outputs;
  TROUPE_SHARED(float, parts, [product_warps][rows][outputs + 4]);
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
#pragma unroll
  for (int tile = 0; tile < Tiles; ++tile) {
#pragma unroll
    for (int i = 0; i < RowTiles * 4; ++i) {
      const unsigned row = static_cast<unsigned>(i / 4 * 8 + i % 2) + lane % 4 * 2;
      const unsigned output = static_cast<unsigned>(tile * tile_outputs + i % 4 / 2 * 8) + lane / 4;
      parts[warp][row][output] = sums[tile].of[i / 4][i % 4];
    }
  }
  __syncthreads();
  for (int i = static_cast<int>(threadIdx.x); i < rows * outputs; i += product_threads) {
    const int row = i / outputs;
    const int output = i % outputs;
    if (row >= product.rows || first_output + output >= product.weights.outputs) continue;
    float sum = parts[0][row][output];
    for (int from = 1; from < product_warps; ++from) sum += parts[from][row][output];
    put(product, row, first_output + output, sum);
  }
}

// A block to `Tiles` tiles of outputs; 8 rows for each of RowTiles.
template <weight_kind Kind, int RowTiles, int Tiles>
__global__ void __launch_bounds__(product_threads, 2) multiply_units(quantized_product product) {
  // So many units are loaded before the first is multiplied: 64 bytes of codes for each lane.
  constexpr int ahead = (Kind == weight_kind::u4_min ? 4 : 2) / Tiles;
  const unsigned lane = threadIdx.x % 32;
  const auto warp = static_cast<std::int32_t>(threadIdx.x / 32);
  const std::int32_t units = product.weights.units;
  const auto first_tile = static_cast<std::int32_t>(blockIdx.x) * Tiles;
  tile_sums<RowTiles> sums[Tiles];
  tiled_unit<Kind> loaded[ahead][Tiles];
  const auto last_of = [units](std::int32_t first, int i) {
    return min(first + i * product_warps, units - 1);
  };
  const auto load_codes = [&](std::int32_t first) {
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
#pragma unroll
      for (int tile = 0; tile < Tiles; ++tile) {
        const std::int32_t own = min(first_tile + tile, product.weights.tiles - 1);
        const std::size_t unit = static_cast<std::size_t>(own) * units + last_of(first, i);
        loaded[i][tile].load(product.weights.data + unit * tiled_unit<Kind>::bytes, lane);
      }
    }
  };
  let_later_kernels_begin();
  load_codes(warp);  // which no kernel writes
  wait_for_earlier_kernels();
  for (std::int32_t first = warp; first < units;) {
    unit_input<RowTiles> input[ahead];
#pragma unroll
    for (int i = 0; i < ahead; ++i) input[i].load(product, last_of(first, i), lane);
#pragma unroll
    for (int i = 0; i < ahead; ++i) {
      if (first + i * product_warps >= units) break;
#pragma unroll
      for (int group = 0; group < 2; ++group) {
        float input_sums[RowTiles][4] = {};
        if constexpr (tiled_unit<Kind>::has_minimum) sum_inputs(input[i], group, input_sums);
#pragma unroll
        for (int tile = 0; tile < Tiles; ++tile)
          add_group(loaded[i][tile], input[i], group, input_sums, sums[tile]);
      }
    }
    first += product_warps * ahead;
    if (first < units) load_codes(first);
  }
  add_warps(product, sums, first_tile * tile_outputs);
}

template <weight_kind Kind>
void multiply_kind(const quantized_product& product, cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>(product.weights.tiles);
  const dim3 block(product_threads);
  if (product.rows <= 4) {
    TROUPE_LAUNCH_EARLY((multiply_units<Kind, 1, 1>), dim3(tiles), block, 0, stream, product);
  } else if (product.rows <= 8) {
    TROUPE_LAUNCH_EARLY((multiply_units<Kind, 1, 2>), dim3((tiles + 1) / 2), block, 0, stream, product);
  } else {
    TROUPE_LAUNCH_EARLY((multiply_units<Kind, 2, 2>), dim3((tiles + 1) / 2), block, 0, stream, product);
  }
}

constexpr int dequantize_warps = 8;

// A warp to a unit.
template <weight_kind Kind>
__global__ void __launch_bounds__(dequantize_warps * 32)
    dequantize_units(tiled_matrix weights, __nv_bfloat16* out) {
  let_later_kernels_begin();
  const unsigned lane = threadIdx.x % 32;
  const auto unit = static_cast<std::int32_t>(blockIdx.y * dequantize_warps + threadIdx.x / 32);
  const auto tile = static_cast<std::int32_t>(blockIdx.x);
  if (unit >= weights.units) return;
  tiled_unit<Kind> loaded;
  loaded.load(
      weights.data + (static_cast<std::size_t>(tile) * weights.units + unit) * tiled_unit<Kind>::bytes, lane);
  wait_for_earlier_kernels();  // who may still read what is overwritten
#pragma unroll
  for (int part = 0; part < 8; ++part) {
    const int group = part / 4;
    const int row = part / 2 % 2;
    const int half = part % 2;
    const float2 scales = loaded.scales_of(group, row);
    const float scale = tiled_unit<Kind>::has_halves && half == 1 ? scales.y : scales.x;
    const float minimum = tiled_unit<Kind>::has_minimum ? scales.y : 0.0F;
    std::uint32_t words[2];
#pragma unroll
    for (int pair = 0; pair < 2; ++pair) {
      const std::uint32_t codes = loaded.pair_of(group, row, half, pair);
      const float low = __uint_as_float(codes << 16U);
      const float high = __uint_as_float(codes & 0xFFFF0000U);
      words[pair] =
          bits_of(__floats2bfloat162_rn(__fmaf_rn(scale, low, minimum), __fmaf_rn(scale, high, minimum)));
    }
    const auto output = static_cast<std::int32_t>(lane / 4) + tile * tile_outputs + row * 8;
    const std::int32_t input =
        unit * unit_inputs + group * 32 + half * 16 + static_cast<std::int32_t>(lane % 4) * 4;
    if (output >= weights.outputs || input >= weights.inputs) continue;
    *reinterpret_cast<uint2*>(out + static_cast<std::size_t>(output) * weights.inputs + input) =
        make_uint2(words[0], words[1]);
  }
}

template <weight_kind Kind>
void dequantize_kind(const tiled_matrix& weights, void* out, cudaStream_t stream) {
  const dim3 grid(static_cast<unsigned>(weights.tiles),
                  static_cast<unsigned>((weights.units + dequantize_warps - 1) / dequantize_warps));
  TROUPE_LAUNCH_EARLY((dequantize_units<Kind>), grid, dim3(dequantize_warps * 32), 0, stream, weights,
                      static_cast<__nv_bfloat16*>(out));
}

// Calls f.template operator()<kind>() with the matrix's kind.
template <class Call>
void with_kind(weight_kind kind, Call call) {
  switch (kind) {
    case weight_kind::u4_min:
      return call.template operator()<weight_kind::u4_min>();
    case weight_kind::s8:
      return call.template operator()<weight_kind::s8>();
    case weight_kind::s8_min:
      return call.template operator()<weight_kind::s8_min>();
    case weight_kind::s8_half:
      return call.template operator()<weight_kind::s8_half>();
    default:  // the float kinds have no tiles
      return;
  }
}

}  // namespace

void multiply_quantized(const quantized_product& product, cudaStream_t stream) {
  if (product.rows <= 0 || product.weights.outputs <= 0) return;
  with_kind(product.weights.kind, [&]<weight_kind Kind>() { multiply_kind<Kind>(product, stream); });
}

void dequantize(const tiled_matrix& weights, void* out, cudaStream_t stream) {
  if (weights.outputs <= 0) return;
  with_kind(weights.kind, [&]<weight_kind Kind>() { dequantize_kind<Kind>(weights, out, stream); });
}

}  // namespace troupe::kernels::cuda
