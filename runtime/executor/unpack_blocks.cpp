// Layouts: ggml's block formats (https://github.com/ggml-org/ggml, ggml-common.h and ggml-quants.c).
#include "runtime/executor/unpack_blocks.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/half.hpp"

namespace troupe {
namespace {

using gguf::tensor_type;
using kernels::weight_group;
using kernels::weight_kind;

std::uint16_t read_half(const std::byte* p) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, p, sizeof(bits));
  return bits;
}

// Too large a product stays finite, so that one odd block cannot spread infinities.
std::uint16_t to_half(float value) { return kernels::f32_to_f16(std::clamp(value, -65504.0F, 65504.0F)); }

std::uint8_t byte_at(const std::byte* p, std::size_t i) { return std::to_integer<std::uint8_t>(p[i]); }

// 16 bytes of nibbles: the low ones are elements 0..15, the high ones 16..31.
void unpack_nibbles(const std::byte* nibbles, weight_group& group) {
  for (std::size_t i = 0; i < 16; ++i) {
    group.codes[i] = byte_at(nibbles, i) & 15;
    group.codes[i + 16] = byte_at(nibbles, i) >> 4;
  }
}

void add_fifth_bits(const std::byte* bits, weight_group& group) {
  std::uint32_t high = 0;
  std::memcpy(&high, bits, sizeof(high));
  for (std::size_t i = 0; i < 32; ++i) {
    group.codes[i] = static_cast<std::int16_t>(group.codes[i] | ((high >> i & 1U) << 4));
  }
}

void unpack_q4_0(const std::byte* block, weight_group& group) {
  unpack_nibbles(block + 2, group);
  group.scales[0] = read_half(block);
  group.minimum = to_half(-8.0F * kernels::f16_to_f32(group.scales[0]));
}

void unpack_q4_1(const std::byte* block, weight_group& group) {
  unpack_nibbles(block + 4, group);
  group.scales[0] = read_half(block);
  group.minimum = read_half(block + 2);
}

void unpack_q5_0(const std::byte* block, weight_group& group) {
  unpack_nibbles(block + 6, group);
  add_fifth_bits(block + 2, group);
  for (std::int16_t& code : group.codes) code = static_cast<std::int16_t>(code - 16);
  group.scales[0] = read_half(block);
}

void unpack_q5_1(const std::byte* block, weight_group& group) {
  unpack_nibbles(block + 8, group);
  add_fifth_bits(block + 4, group);
  group.scales[0] = read_half(block);
  group.minimum = read_half(block + 2);
}

void unpack_q8_0(const std::byte* block, weight_group& group) {
  for (std::size_t i = 0; i < 32; ++i) group.codes[i] = static_cast<std::int8_t>(block[2 + i]);
  group.scales[0] = read_half(block);
}

// The 6-bit scale and minimum of sub-block j of 8, packed in 12 bytes.
std::pair<int, int> k_scale_and_minimum(const std::byte* packed, std::size_t j) {
  if (j < 4) return {byte_at(packed, j) & 63, byte_at(packed, j + 4) & 63};
  return {(byte_at(packed, j + 4) & 15) | ((byte_at(packed, j - 4) >> 6) << 4),
          (byte_at(packed, j + 4) >> 4) | ((byte_at(packed, j) >> 6) << 4)};
}

// Q4_K: d, dmin, 12 bytes of scales, 128 bytes of nibbles. Q5_K has 32 bytes of fifth bits before the
// nibbles.
void unpack_q45_k(const std::byte* block, bool fifth_bits, weight_group* groups) {
  const float d = kernels::f16_to_f32(read_half(block));
  const float dmin = kernels::f16_to_f32(read_half(block + 2));
  const std::byte* high = block + 16;
  const std::byte* nibbles = block + (fifth_bits ? 48 : 16);
  for (std::size_t j = 0; j < 8; ++j) {
    const auto [scale, minimum] = k_scale_and_minimum(block + 4, j);
    for (std::size_t i = 0; i < 32; ++i) {
      const std::uint8_t pair = byte_at(nibbles, j / 2 * 32 + i);
      int code = j % 2 == 0 ? pair & 15 : pair >> 4;
      if (fifth_bits) code |= (byte_at(high, i) >> j & 1) << 4;
      groups[j].codes[i] = static_cast<std::int16_t>(code);
    }
    groups[j].scales[0] = to_half(d * static_cast<float>(scale));
    groups[j].minimum = to_half(-dmin * static_cast<float>(minimum));
  }
}

// 128 bytes of low nibbles, 64 of upper pairs of bits, 16 signed scales of 16 weights each, d.
void unpack_q6_k(const std::byte* block, weight_group* groups) {
  const float d = kernels::f16_to_f32(read_half(block + 208));
  for (std::size_t j = 0; j < 8; ++j) {
    const std::byte* low = block + j / 4 * 64 + j % 2 * 32;
    const std::byte* high = block + 128 + j / 4 * 32;
    for (std::size_t i = 0; i < 32; ++i) {
      const int nibble = j % 4 < 2 ? byte_at(low, i) & 15 : byte_at(low, i) >> 4;
      const int upper = byte_at(high, i) >> (j % 4 * 2) & 3;
      groups[j].codes[i] = static_cast<std::int16_t>((nibble | upper << 4) - 32);
    }
    for (std::size_t half = 0; half < 2; ++half) {
      const auto scale = static_cast<std::int8_t>(block[192 + 2 * j + half]);
      groups[j].scales[half] = to_half(d * static_cast<float>(scale));
    }
  }
}

}  // namespace

std::optional<weight_kind> packed_kind(tensor_type type) {
  switch (type) {
    case tensor_type::q4_0:
    case tensor_type::q4_1:
    case tensor_type::q4_k:
      return weight_kind::u4_min;
    case tensor_type::q5_0:
    case tensor_type::q8_0:
      return weight_kind::s8;
    case tensor_type::q5_1:
    case tensor_type::q5_k:
      return weight_kind::s8_min;
    case tensor_type::q6_k:
      return weight_kind::s8_half;
    case tensor_type::f16:
      return weight_kind::f16;
    case tensor_type::bf16:
      return weight_kind::bf16;
    case tensor_type::f32:
      return weight_kind::f32;
  }
  return std::nullopt;
}

void unpack_block(tensor_type type, const std::byte* block, weight_group* groups) {
  switch (type) {
    case tensor_type::q4_0:
      return unpack_q4_0(block, *groups);
    case tensor_type::q4_1:
      return unpack_q4_1(block, *groups);
    case tensor_type::q5_0:
      return unpack_q5_0(block, *groups);
    case tensor_type::q5_1:
      return unpack_q5_1(block, *groups);
    case tensor_type::q8_0:
      return unpack_q8_0(block, *groups);
    case tensor_type::q4_k:
      return unpack_q45_k(block, false, groups);
    case tensor_type::q5_k:
      return unpack_q45_k(block, true, groups);
    case tensor_type::q6_k:
      return unpack_q6_k(block, groups);
    case tensor_type::f16:
    case tensor_type::bf16:
    case tensor_type::f32:
      return;  // not made of blocks
  }
}

}  // namespace troupe
