#pragma once
#include <cstdint>

#include "kernels/cuda/element_type.hpp"

namespace troupe::kernels::cuda {

inline constexpr std::int32_t max_norm_width = 32768;  // of rows whose width is a multiple of 8

struct residual_norm_arguments {
  float* residual;  // [rows][width], in and out
  const void*
      addition;  // [rows][width] of `type`: what the last block of the layer gave; null: nothing is added
  const float* weight;  // [width]
  void* output;         // [rows][width] of `type`; not the addition
  std::int32_t rows;
  std::int32_t width;  // a multiple of 8 up to max_norm_width, or any up to an eighth of it
  float epsilon;
  element_type type;
};

// residual += addition; output = residual / sqrt(mean(residual^2) + epsilon) * weight (RMSNorm, arXiv
// 1910.07467). Sums are fp32, in an order that depends on the width alone: a row's bits do not depend on the
// others.
//
// It moves 12 bytes an element (read and write fp32, read and write 16 bits) and does little else, so
// bandwidth bounds it: 12 * rows * width / 3.35 TB/s on an H100, 0.5 us at 64 x 2,048, below the time of a
// launch. A block a row: the values wait in registers for the row's sum instead of being read again, 8 to a
// load (16 bytes of 16-bit elements).
void residual_rms_norm(const residual_norm_arguments& arguments, cudaStream_t stream);

}  // namespace troupe::kernels::cuda
