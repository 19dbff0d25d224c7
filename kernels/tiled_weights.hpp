// Quantised weight matrices repacked for tensor cores: units of 16 outputs x 64 inputs that a warp reads with
// one or two loads of 16 bytes a lane, each lane the codes that it multiplies (the idea of Frantar et al.,
// "MARLIN: mixed-precision auto-regressive parallel inference on large language models", 2024, section 3).
//
// With g = lane / 4 and t = lane % 4 a lane holds of the outputs g and g + 8 and of each group of 32 inputs
// those at 16 * half + 4 * t + 0..3, half = 0 and 1. A unit of two groups is
// - codes of u4_min: [32 lanes][2 groups][2 outputs] words of 8 nibbles. Of the eight inputs' four pairs (two
//   of each half) pair p has its first code in nibble p, its second in nibble p + 4.
// - codes of the others: [2 groups][32 lanes][2 outputs][2 halves] words of 4 bytes, each a code + 128.
// - scales of u4_min and s8_min: [8 g][2 groups][2 outputs] pairs of f16, scale and minimum; of s8_half the
//   same, the scales of the two halves; of s8: [8 g][2 groups][2 outputs] f16.
// Units of a tile of 16 outputs stand together, tiles one after another. Beyond the matrix scales are 0.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/packed_weights.hpp"

namespace troupe::kernels {

inline constexpr std::int32_t tile_outputs = 16;
inline constexpr std::int32_t unit_inputs = 64;

// A view; the memory belongs to whoever packed it.
struct tiled_matrix {
  weight_kind kind = weight_kind::s8;
  std::int32_t outputs = 0;
  std::int32_t inputs = 0;          // a multiple of 32
  std::int32_t tiles = 0;           // outputs / 16, rounded up
  std::int32_t units = 0;           // of a tile: inputs / 64, rounded up
  const std::byte* data = nullptr;  // aligned to 16 bytes
};

constexpr std::size_t unit_code_bytes(weight_kind kind) { return kind == weight_kind::u4_min ? 512 : 1024; }
constexpr std::size_t unit_bytes(weight_kind kind) {
  return unit_code_bytes(kind) + (kind == weight_kind::s8 ? 64 : 128);
}

// The layout of a matrix of a quantised kind with data == nullptr.
tiled_matrix describe_tiled(weight_kind kind, std::int32_t outputs, std::int32_t inputs);
std::size_t tiled_bytes(const tiled_matrix& layout);

// Writes group `group` of output `output` into `data`, which was all zero before the first.
void pack_tiled_group(const tiled_matrix& layout, std::byte* data, std::int32_t output, std::int32_t group,
                      const weight_group& weights);

}  // namespace troupe::kernels
