#pragma once
#include <cstdint>

#include "kernels/cuda/element_type.hpp"
#include "kernels/cuda/elementwise/rotate_and_store.hpp"

namespace troupe::kernels::cuda {

inline constexpr std::int32_t max_few_rows = 64;

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

// How the work is divided; which is the fastest is to be measured.
enum class few_row_variant : std::int32_t {
  lanes,        // a warp computes an output; up to 4 rows
  tiles,        // tensor cores (few_row_tiles.hpp), in blocks that should read the least,
  other_tiles,  // the next of these,
  third_tiles,  // and the next
};
inline constexpr few_row_variant few_row_variants[] = {few_row_variant::lanes, few_row_variant::tiles,
                                                       few_row_variant::other_tiles,
                                                       few_row_variant::third_tiles};

struct few_row_arguments {
  const void* weights;                 // [outputs][inputs] of `type`
  const void* input;                   // [rows][inputs] of `type`; null: what RMSNorm makes of `residual`
  const float* residual = nullptr;     // [rows][inputs]
  const float* norm_weight = nullptr;  // [inputs]
  float epsilon = 0;
  void* output;
  std::int32_t rows;  // up to max_few_rows
  std::int32_t outputs;
  std::int32_t inputs;  // can_multiply_few_rows()
  std::int32_t multiprocessors;
  few_row_output kind;
  few_row_variant variant = few_row_variant::lanes;
  element_type type;
  rotate_and_store_arguments rotation = {};  // of `rotated`; its qkv, qkv_stride, rows and type do not count
};

// Whether a variant can: up to 4 rows of a multiple of 8 inputs by lanes, up to max_few_rows of a multiple of
// 32 on tensor cores. Rows that are normed, 16 of them at most, must have room in 48 KB of shared memory.
bool can_multiply_few_rows(few_row_variant variant, std::int32_t rows, std::int32_t inputs, bool is_normed);

// Whether an element is rotated without the rest of its head: no norms, heads rotated as a whole, a KV memory
// of 16 bits.
bool can_rotate_few_rows(const rotate_and_store_arguments& rotation);

// Products of few rows with plain weights, with the norm before them and what comes of gates and ups, or of
// queries, keys and values, after them in one launch. Sums are fp32. Every block norms the rows for itself.
//
// By lanes a warp computes an output, or two that belong together, for all rows, 8 inputs a lane at a time,
// so that each weight is read once. On tensor cores and by lanes the order of a sum depends on the number of
// inputs alone: a row's bits do not depend on the others.
//
// Bandwidth of the weights bounds it; what it saves are launches, which take longer than the products of
// small models.
void multiply_few_rows(const few_row_arguments& arguments, cudaStream_t stream);

}  // namespace troupe::kernels::cuda
