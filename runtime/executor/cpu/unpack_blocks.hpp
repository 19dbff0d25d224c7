// The blocks of quantised GGUF tensors as groups of 32 codes, their scales and minima: what the kernels pack.
#pragma once
#include <cstddef>
#include <optional>

#include "kernels/packed_weights.hpp"
#include "runtime/gguf/gguf.hpp"

namespace troupe {

// The packed kind that holds a file's type: exactly, but for scales of K-quants, products that are rounded to
// f16.
std::optional<kernels::weight_kind> packed_kind(gguf::tensor_type type);

// Unpacks one block (gguf::block_elements weights) into block_elements / 32 groups.
void unpack_block(gguf::tensor_type type, const std::byte* block, kernels::weight_group* groups);

}  // namespace troupe
