#pragma once
#include <cstdint>

#include "kernels/cuda/element_type.hpp"

namespace troupe::kernels::cuda {

struct rope_angles_arguments {
  const std::int32_t* positions;     // [rows]
  const float* inverse_frequencies;  // [pairs]: of each rotated pair, scaling of the context applied
  float scale;                       // of both results (YaRN's magnitude factor)
  float* angles;                     // [rows][pairs][2]: cosine, sine of position * inverse frequency
  std::int32_t rows;
  std::int32_t pairs;
};

// What all layers of a step rotate by (rotary position embedding, arXiv 2104.09864), computed once. In double
// precision as on the CPU: position * frequency in single precision would be off by 0.01 at position 100,000.
//
// 8 bytes written an angle; the sines bound it: about 100 double operations an angle, 0.2 us at 64 rows x 64
// pairs on an H100, 30 us for a chunk of 8,192 rows.
void rope_angles(const rope_angles_arguments& arguments, cudaStream_t stream);

}  // namespace troupe::kernels::cuda
