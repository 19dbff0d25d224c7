#pragma once
#include <cstdint>

#include "kernels/cuda/element_type.hpp"
#include "kernels/cuda/paged_kv.hpp"

namespace troupe::kernels::cuda {

inline constexpr std::int32_t rope_dim_unit = 16;

enum class rope_pairs : std::int32_t {
  interleaved,  // elements 2i and 2i + 1
  halves        // elements i and i + rope_dim / 2
};

struct rotate_and_store_arguments {
  // [rows][(num_heads + 2 * kv.num_kv_heads) * head_dim] of `type`: queries, keys, values, as one product
  // gives them; rows qkv_stride elements apart, a multiple of 8. Queries are changed in place; keys and
  // values go into `kv`.
  void* qkv;
  std::int64_t qkv_stride;
  paged_kv kv;              // 16-bit memory is of `type`
  const float* bias;        // [(num_heads + 2 * kv.num_kv_heads) * head_dim]; null: none
  const float* query_norm;  // [head_dim]; null: none. Either both norms or none.
  const float* key_norm;
  float epsilon;        // of these
  const float* angles;  // [rows][rope_dim / 2][2]: rope_angles()
  const std::int32_t*
      slots;  // [rows]: block * block_size + place in it; -1: the row's key and value are not stored
  std::int32_t rows;
  std::int32_t num_heads;
  std::int32_t rope_dim;  // leading elements of a head that are rotated, a multiple of rope_dim_unit
  rope_pairs pairs;
  std::int32_t layer;
  element_type type;
};

// What stands between the product with the weights of a layer's queries, keys and values and its attention:
// bias, RMSNorm of each query and key head, rotation, and the row's key and value into the paged KV memory,
// in one pass. In fp32; int8 codes are x * 127 / amax, rounded to even, fp8 saturates.
//
// It moves 2 bytes in and 1 or 2 out an element: 0.2 us at 64 rows of 48 heads of 128 on an H100, below the
// time of a launch, so one launch is what matters. A head is held by as many lanes of a warp as there are
// runs of 8 elements (16 bytes) in it: sums, maxima and the other half of a pair come by shuffles. A row's
// bits do not depend on the others.
void rotate_and_store(const rotate_and_store_arguments& arguments, cudaStream_t stream);

}  // namespace troupe::kernels::cuda
