#include "runtime/gguf/blocks.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/half.hpp"

namespace troupe::gguf {
namespace {

std::uint8_t byte_at(const std::byte* source, std::size_t offset) {
  return std::to_integer<std::uint8_t>(source[offset]);
}

std::int8_t signed_at(const std::byte* source, std::size_t offset) {
  return static_cast<std::int8_t>(byte_at(source, offset));
}

float half_at(const std::byte* source) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, source, sizeof(bits));
  return kernels::f16_to_f32(bits);
}

void set_scale(block_group& group, float scale, float minimum = 0) {
  group.scales[0] = group.scales[1] = scale;
  group.minimum = minimum;
}

void subtract(block_group& group, int offset) {
  for (std::int16_t& code : group.codes) code = static_cast<std::int16_t>(code - offset);
}

// 16 bytes of nibbles: the low ones are weights 0..15, the high ones 16..31.
void read_nibbles(const std::byte* nibbles, block_group& group) {
  for (std::size_t i = 0; i < 16; ++i) {
    group.codes[i] = byte_at(nibbles, i) & 15;
    group.codes[i + 16] = byte_at(nibbles, i) >> 4;
  }
}

// 4 bytes: bit i is the fifth bit of weight i.
void add_fifth_bits(const std::byte* bits, block_group& group) {
  std::uint32_t high = 0;
  std::memcpy(&high, bits, sizeof(high));
  for (std::size_t i = 0; i < 32; ++i) {
    group.codes[i] = static_cast<std::int16_t>(group.codes[i] | ((high >> i & 1U) << 4));
  }
}

// half d, nibbles.
void decode_q4_0(const std::byte* block, block_group& group) {
  read_nibbles(block + 2, group);
  subtract(group, 8);
  set_scale(group, half_at(block));
}

// half d, half m, nibbles.
void decode_q4_1(const std::byte* block, block_group& group) {
  read_nibbles(block + 4, group);
  set_scale(group, half_at(block), half_at(block + 2));
}

// half d, fifth bits, nibbles.
void decode_q5_0(const std::byte* block, block_group& group) {
  read_nibbles(block + 6, group);
  add_fifth_bits(block + 2, group);
  subtract(group, 16);
  set_scale(group, half_at(block));
}

// half d, half m, fifth bits, nibbles.
void decode_q5_1(const std::byte* block, block_group& group) {
  read_nibbles(block + 8, group);
  add_fifth_bits(block + 4, group);
  set_scale(group, half_at(block), half_at(block + 2));
}

// half d, 32 signed bytes.
void decode_q8_0(const std::byte* block, block_group& group) {
  for (std::size_t i = 0; i < 32; ++i) group.codes[i] = signed_at(block, 2 + i);
  set_scale(group, half_at(block));
}

// Scale and minimum of sub-block `index` (0..7), 6 bits each, packed into 12 bytes (get_scale_min_k4).
std::pair<int, int> scale_and_minimum(const std::byte* packed, std::size_t index) {
  if (index < 4) return {byte_at(packed, index) & 63, byte_at(packed, index + 4) & 63};
  const int upper_scale = byte_at(packed, index - 4) >> 6 << 4;
  const int upper_minimum = byte_at(packed, index) >> 6 << 4;
  return {(byte_at(packed, index + 4) & 15) | upper_scale, byte_at(packed, index + 4) >> 4 | upper_minimum};
}

// half d, half dmin, 12 bytes of scales and minima, (Q5_K: 32 bytes of fifth bits, bit j of byte i for weight
// i of sub-block j,) 128 bytes of nibbles: per 32 bytes the low ones are one sub-block, the high ones the
// next.
void decode_q45_k(const std::byte* block, bool fifth_bits, block_group* groups) {
  const float d = half_at(block);
  const float dmin = half_at(block + 2);
  const std::byte* nibbles = block + (fifth_bits ? 48 : 16);
  for (std::size_t j = 0; j < 8; ++j) {
    const auto [scale, minimum] = scale_and_minimum(block + 4, j);
    for (std::size_t i = 0; i < 32; ++i) {
      const std::uint8_t pair = byte_at(nibbles, j / 2 * 32 + i);
      int code = j % 2 == 0 ? pair & 15 : pair >> 4;
      if (fifth_bits) code |= (byte_at(block + 16, i) >> j & 1) << 4;
      groups[j].codes[i] = static_cast<std::int16_t>(code);
    }
    set_scale(groups[j], d * static_cast<float>(scale), -(dmin * static_cast<float>(minimum)));
  }
}

// 128 bytes of low nibbles, 64 of upper pairs of bits, 16 signed scales of 16 weights each, half d. Each half
// of 128 weights has four groups: 0 and 1 are the low nibbles of its 64 bytes, 2 and 3 the high ones.
void decode_q6_k(const std::byte* block, block_group* groups) {
  const float d = half_at(block + 208);
  for (std::size_t j = 0; j < 8; ++j) {
    const std::byte* nibbles = block + j / 4 * 64 + j % 2 * 32;
    const std::byte* pairs = block + 128 + j / 4 * 32;
    for (std::size_t i = 0; i < 32; ++i) {
      const int low = j % 4 < 2 ? byte_at(nibbles, i) & 15 : byte_at(nibbles, i) >> 4;
      const int upper = byte_at(pairs, i) >> (j % 4 * 2) & 3;
      groups[j].codes[i] = static_cast<std::int16_t>((low | upper << 4) - 32);
    }
    for (std::size_t half = 0; half < 2; ++half) {
      groups[j].scales[half] = d * static_cast<float>(signed_at(block, 192 + 2 * j + half));
    }
    groups[j].minimum = 0;
  }
}

}  // namespace

bool has_minimum(tensor_type type) {
  switch (type) {
    case tensor_type::q4_1:
    case tensor_type::q5_1:
    case tensor_type::q4_k:
    case tensor_type::q5_k:
      return true;
    default:
      return false;
  }
}

void decode_block(tensor_type type, const std::byte* block, block_group* groups) {
  switch (type) {
    case tensor_type::q4_0:
      return decode_q4_0(block, *groups);
    case tensor_type::q4_1:
      return decode_q4_1(block, *groups);
    case tensor_type::q5_0:
      return decode_q5_0(block, *groups);
    case tensor_type::q5_1:
      return decode_q5_1(block, *groups);
    case tensor_type::q8_0:
      return decode_q8_0(block, *groups);
    case tensor_type::q4_k:
      return decode_q45_k(block, false, groups);
    case tensor_type::q5_k:
      return decode_q45_k(block, true, groups);
    case tensor_type::q6_k:
      return decode_q6_k(block, groups);
    case tensor_type::f16:
    case tensor_type::bf16:
    case tensor_type::f32:
      return;
  }
}

}  // namespace troupe::gguf
