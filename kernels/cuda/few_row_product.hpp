#pragma once
#include <cstdint>

#include "kernels/cuda/element_type.hpp"
#include "kernels/cuda/rotate_and_store.hpp"

namespace troupe::kernels::cuda {

inline constexpr std::int32_t max_few_rows = 4;

enum class few_row_output : std::int32_t {
  rounded,     // [rows][outputs] of `type`
  f32,         // [rows][outputs]
  add_to_f32,  // added to [rows][outputs]
  // [rows][outputs / 2] of `type`: the first half of a row's sums are gates, the second half ups; silu(gate)
  // * up of both as rounded to `type`, as silu_multiply() has it
  gated,
  // Queries, keys and values as rounded to `type`, and what rotate_and_store() makes of them: queries in
  // [rows][outputs] of `type`, keys and values in the KV memory alone. Where can_rotate_few_rows().
  rotated,
};

struct few_row_arguments {
  const void* weights;                 // [outputs][inputs] of `type`
  const void* input;                   // [rows][inputs] of `type`; null: what RMSNorm makes of `residual`
  const float* residual = nullptr;     // [rows][inputs]
  const float* norm_weight = nullptr;  // [inputs]
  float epsilon = 0;
  void* output;
  std::int32_t rows;  // up to max_few_rows
  std::int32_t outputs;
  std::int32_t inputs;  // a multiple of 8
  std::int32_t multiprocessors;
  few_row_output kind;
  element_type type;
  rotate_and_store_arguments rotation = {};  // of `rotated`; its qkv, qkv_stride, rows and type do not count
};

// Whether there is room for so many normed rows beside each other in a block's shared memory.
bool can_norm_few_rows(std::int32_t rows, std::int32_t inputs);

// Whether an element is rotated without the rest of its head: no norms, heads rotated as a whole, a KV memory
// of 16 bits.
bool can_rotate_few_rows(const rotate_and_store_arguments& rotation);

// Products of few rows with plain weights, with the norm before them and what comes of gates and ups, or of
// queries, keys and values, after them in one launch. A warp computes an output, or two that belong together,
// for all rows, 8 inputs a lane at a time, so that each weight is read once; every block norms the rows for
// itself. Sums are fp32, in an order that depends on the number of inputs alone: a row's bits do not depend
// on the others.
//
// Bandwidth of the weights bounds it; what it saves are launches, which take longer than the products of
// small models.
void multiply_few_rows(const few_row_arguments& arguments, cudaStream_t stream);

}  // namespace troupe::kernels::cuda
