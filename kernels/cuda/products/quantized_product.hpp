// Products with quantised weights on the device: by an own kernel for few rows, dequantised for many.
#pragma once
#include "kernels/cuda/element_type.hpp"
#include "kernels/tiled_weights.hpp"

namespace troupe::kernels::cuda {

inline constexpr std::int32_t max_quantized_rows = 16;

enum class product_output : std::int32_t {
  bf16,        // rounded to nearest
  f32,         // as it was summed
  add_to_f32,  // added to what is there
};

struct quantized_product {
  tiled_matrix weights;           // data on the device
  const void* input = nullptr;    // [rows][input_stride] bf16
  std::int64_t input_stride = 0;  // a multiple of 4; rows aligned to 8 bytes
  std::int32_t rows = 0;          // 1 to max_quantized_rows
  product_output kind = product_output::f32;
  void* output = nullptr;  // [rows][output_stride]
  std::int64_t output_stride = 0;
};

// output[row][o] = sum over i of input[row][i] * weight[o][i], for 1 to 16 rows.
//
// The weights are exact: the tensor cores multiply bf16 activations with the codes themselves (integers up to
// 128, exact in bf16), 32 or 16 inputs at a time, and the sum of each group is scaled in fp32; minima times
// the sum of the group's activations, which the tensor cores give too. All sums are fp32 in an order that
// depends on the matrix alone: the eight warps of a block take every eighth unit of 64 inputs and are added
// in order. So a row's bits do not depend on the rows beside it.
//
// An H100 must move the matrix once, 5 bits (u4_min), 8.5 (s8) or 9 bits a weight: 4,096 x 4,096 of u4_min
// take 3.1 us at 3.35 TB/s. Each warp has 64 bytes a lane of it in flight beside the activations, which come
// from L2: a block of 16 outputs (up to 4 rows) or 32 (more, so that activations are read half as often), so
// that 4,096 outputs fill 132 multiprocessors.
void multiply_quantized(const quantized_product& product, cudaStream_t stream);

// out[o][i] = the weight rounded to bf16, [outputs][inputs], aligned to 8 bytes: for products of many rows by
// a GEMM. Bound by what it writes, 2 bytes a weight.
void dequantize(const tiled_matrix& weights, void* out, cudaStream_t stream);

}  // namespace troupe::kernels::cuda
