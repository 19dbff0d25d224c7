// How the keys and values of one KV head and 16 consecutive tokens lie in memory.
#pragma once
#include <cstddef>
#include <cstdint>

namespace troupe::kernels {

// Tokens of a KV tile, and of a fixed stretch of context whose softmax is computed as one.
inline constexpr std::int32_t tile_tokens = 16;
inline constexpr std::int32_t stretch_tiles = 16;
inline constexpr std::int32_t stretch_tokens = tile_tokens * stretch_tiles;

// head_dim is a multiple of 16.
//
// f16: K [head_dim][16 tokens], then V [16 tokens][head_dim]. K lies transposed so that 16 scores come from
// whole vectors with no sums across lanes.
//
// int8: K [head_dim / 4][16 tokens][4 dims], K scales [16] in fp32, V [4][head_dim][4 tokens], V scales [16].
// scale * (code - 128), codes 1..255, stands for the Hadamard transform of a token's K, and so for its V: the
// few large elements of a head are spread over all of it, and fewer bits are lost to them (QuaRot, arXiv
// 2404.00456). The fours are what one lane of an int8 dot product adds up.
enum class kv_dtype : std::int32_t { f16, int8 };

constexpr const char* to_string(kv_dtype dtype) { return dtype == kv_dtype::int8 ? "int8" : "f16"; }

// Products of int8 codes with 15-bit ones are added in 32 bits: a longer head could overflow them.
inline constexpr std::int32_t max_int8_head_dim = 1024;

// Elements transformed together, unscaled: the largest power of two that divides the head. Two transforms
// after each other multiply by it.
constexpr std::int32_t hadamard_size(std::int32_t head_dim) { return head_dim & -head_dim; }
constexpr float hadamard_scale(std::int32_t head_dim) {
  return 1.0F / static_cast<float>(hadamard_size(head_dim));
}

// Offsets in bytes within an int8 tile.
constexpr std::size_t key_scales_offset(std::int32_t head_dim) {
  return static_cast<std::size_t>(head_dim) * tile_tokens;
}
constexpr std::size_t value_codes_offset(std::int32_t head_dim) {
  return key_scales_offset(head_dim) + tile_tokens * sizeof(float);
}
constexpr std::size_t value_scales_offset(std::int32_t head_dim) {
  return value_codes_offset(head_dim) + static_cast<std::size_t>(head_dim) * tile_tokens;
}

constexpr std::size_t tile_bytes(kv_dtype dtype, std::int32_t head_dim) {
  if (dtype == kv_dtype::int8) return value_scales_offset(head_dim) + tile_tokens * sizeof(float);
  return static_cast<std::size_t>(head_dim) * 2 * tile_tokens * sizeof(std::uint16_t);
}

// Copies one token's K and V, scales included, from a place of one tile to a place of another.
void copy_token(kv_dtype dtype, std::int32_t head_dim, const std::byte* from, std::int32_t from_place,
                std::byte* to, std::int32_t to_place);

}  // namespace troupe::kernels
