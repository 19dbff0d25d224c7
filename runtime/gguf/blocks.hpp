// The blocks of quantised tensors, decoded once for all who read them: the fp32 oracle and the packer of
// kernels.
#pragma once
#include <cstddef>
#include <cstdint>

#include "runtime/gguf/gguf.hpp"

namespace troupe::gguf {

// 32 weights: weight i is scales[i / 16] * codes[i] + minimum.
struct block_group {
  std::int16_t codes[32];
  float scales[2];
  float minimum;
};

// Whether a type's blocks have minima; where not, `minimum` is 0 and codes are signed.
bool has_minimum(tensor_type type);

// Decodes one block of a quantised type (block_elements weights) into block_elements / 32 groups. Types that
// are not made of blocks (f32, f16, bf16) leave `groups` alone. Layouts: ggml/src/ggml-common.h; the order of
// products is that of the `gguf` Python package, so that the bits agree.
void decode_block(tensor_type type, const std::byte* block, block_group* groups);

}  // namespace troupe::gguf
