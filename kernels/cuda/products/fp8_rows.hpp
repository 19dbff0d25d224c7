#pragma once
#include <cstdint>

#include "kernels/cuda/element_type.hpp"

namespace troupe::kernels::cuda {

// Rows of 8-bit floats (e4m3: 4 bits of exponent, 3 of mantissa, up to 448; arXiv 2209.05433), each with a
// scale of its own that is a power of two: to multiply by it changes no bit of a mantissa, so scales can be
// applied to what has been rounded already. A floating-point code loses nothing to a scale that is not the
// greatest possible one, but for the last of its 15 binades.

struct fp8_rows_arguments {
  const void* input;  // [rows][width] of `type`
  void* output;       // [rows][width] e4m3, rounded to nearest, ties to even
  float* scales;      // [rows]: input = output * scale
  std::int32_t rows;
  std::int32_t width;  // a multiple of 16
  element_type type;
};

// The scale is the least power of two by which it is at most 448 in magnitude; a row's bits do not depend on
// the others. A block a row, which reads it twice, the second time from a cache: 3 bytes an element of
// bandwidth.
void quantize_to_fp8(const fp8_rows_arguments& arguments, cudaStream_t stream);

enum class fp8_sums : std::int32_t {
  bf16,        // in place
  f32,         // in place
  add_to_f32,  // added to `output`
};

struct fp8_scale_arguments {
  void* sums;                  // [rows][width]: of products of codes
  const float* row_scales;     // [rows]
  const float* output_scales;  // [width]
  float* output;               // [rows][width], for add_to_f32
  std::int32_t rows;
  std::int32_t width;  // a multiple of 8
  fp8_sums kind;
};

// sums[row][i] *= row_scales[row] * output_scales[i], or output[row][i] += that. Bandwidth bounds it: 4, 8 or
// 12 bytes an element.
void scale_fp8_sums(const fp8_scale_arguments& arguments, cudaStream_t stream);

}  // namespace troupe::kernels::cuda
