// Block layouts and formulas: ggml/src/ggml-common.h and ggml-quants.c (dequantize_row_*). Products and sums
// are made in the order of the `gguf` Python package, so that the bits agree.
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <utility>

#include "kernels/half.hpp"
#include "runtime/gguf/gguf.hpp"

namespace troupe::gguf {
namespace {

constexpr std::size_t small_block = 32;
constexpr std::size_t super_block = 256;

std::uint8_t byte_at(const std::byte* source, std::size_t offset) {
  return std::to_integer<std::uint8_t>(source[offset]);
}
std::int8_t signed_at(const std::byte* source, std::size_t offset) {
  return static_cast<std::int8_t>(byte_at(source, offset));
}
template <class T>
T load(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}
float half_at(const std::byte* source) { return kernels::f16_to_f32(load<std::uint16_t>(source)); }

int low_nibble(std::uint8_t byte) { return byte & 0xF; }
int high_nibble(std::uint8_t byte) { return byte >> 4; }

void f32_element(const std::byte* in, float* out) { *out = load<float>(in); }
void f16_element(const std::byte* in, float* out) { *out = half_at(in); }
void bf16_element(const std::byte* in, float* out) { *out = kernels::bf16_to_f32(load<std::uint16_t>(in)); }

// half d, 16 bytes of nibbles: the low ones are elements 0..15, the high ones 16..31.
void q4_0_block(const std::byte* in, float* out) {
  const float scale = half_at(in);
  for (std::size_t i = 0; i < 16; ++i) {
    const auto byte = byte_at(in, 2 + i);
    out[i] = scale * static_cast<float>(low_nibble(byte) - 8);
    out[i + 16] = scale * static_cast<float>(high_nibble(byte) - 8);
  }
}

// half d, half m, nibbles as Q4_0.
void q4_1_block(const std::byte* in, float* out) {
  const float scale = half_at(in);
  const float minimum = half_at(in + 2);
  for (std::size_t i = 0; i < 16; ++i) {
    const auto byte = byte_at(in, 4 + i);
    out[i] = scale * static_cast<float>(low_nibble(byte)) + minimum;
    out[i + 16] = scale * static_cast<float>(high_nibble(byte)) + minimum;
  }
}

// The fifth bits of 32 elements, then their nibbles.
struct five_bits {
  std::uint32_t high;
  const std::byte* nibbles;
  int first(std::size_t i) const {
    return low_nibble(byte_at(nibbles, i)) | static_cast<int>((high >> i & 1U) << 4U);
  }
  int second(std::size_t i) const {
    return high_nibble(byte_at(nibbles, i)) | static_cast<int>((high >> (i + 16) & 1U) << 4U);
  }
};

// half d, 32 fifth bits, nibbles as Q4_0.
void q5_0_block(const std::byte* in, float* out) {
  const float scale = half_at(in);
  const five_bits quants{load<std::uint32_t>(in + 2), in + 6};
  for (std::size_t i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(quants.first(i) - 16);
    out[i + 16] = scale * static_cast<float>(quants.second(i) - 16);
  }
}

// half d, half m, 32 fifth bits, nibbles as Q4_0.
void q5_1_block(const std::byte* in, float* out) {
  const float scale = half_at(in);
  const float minimum = half_at(in + 2);
  const five_bits quants{load<std::uint32_t>(in + 4), in + 8};
  for (std::size_t i = 0; i < 16; ++i) {
    out[i] = scale * static_cast<float>(quants.first(i)) + minimum;
    out[i + 16] = scale * static_cast<float>(quants.second(i)) + minimum;
  }
}

// half d, 32 signed bytes.
void q8_0_block(const std::byte* in, float* out) {
  const float scale = half_at(in);
  for (std::size_t i = 0; i < small_block; ++i) out[i] = scale * static_cast<float>(signed_at(in, 2 + i));
}

// Scale and minimum of sub-block `index` (0..7), 6 bits each, packed into 12 bytes (get_scale_min_k4).
std::pair<int, int> scale_and_minimum(const std::byte* packed, std::size_t index) {
  if (index < 4) return {byte_at(packed, index) & 63, byte_at(packed, index + 4) & 63};
  const int scale = low_nibble(byte_at(packed, index + 4)) | (byte_at(packed, index - 4) >> 6) << 4;
  const int minimum = high_nibble(byte_at(packed, index + 4)) | (byte_at(packed, index) >> 6) << 4;
  return {scale, minimum};
}

// half d, half dmin, 12 bytes of scales and minima, 128 bytes of nibbles: per 32 bytes the low nibbles are
// one sub-block of 32 elements and the high ones the next.
void q4_k_block(const std::byte* in, float* out) {
  const float scale = half_at(in);
  const float minimum_scale = half_at(in + 2);
  for (std::size_t sub = 0; sub < 8; ++sub) {
    const auto [factor, minimum] = scale_and_minimum(in + 4, sub);
    const float d = scale * static_cast<float>(factor);
    const float m = minimum_scale * static_cast<float>(minimum);
    const std::byte* quants = in + 16 + sub / 2 * 32;
    for (std::size_t i = 0; i < 32; ++i) {
      const auto byte = byte_at(quants, i);
      out[sub * 32 + i] = d * static_cast<float>(sub % 2 == 0 ? low_nibble(byte) : high_nibble(byte)) - m;
    }
  }
}

// As Q4_K, with 32 bytes of fifth bits before the nibbles: bit `sub` of byte i belongs to element i of
// sub-block `sub`.
void q5_k_block(const std::byte* in, float* out) {
  const float scale = half_at(in);
  const float minimum_scale = half_at(in + 2);
  for (std::size_t sub = 0; sub < 8; ++sub) {
    const auto [factor, minimum] = scale_and_minimum(in + 4, sub);
    const float d = scale * static_cast<float>(factor);
    const float m = minimum_scale * static_cast<float>(minimum);
    const std::byte* quants = in + 48 + sub / 2 * 32;
    for (std::size_t i = 0; i < 32; ++i) {
      const auto byte = byte_at(quants, i);
      const int fifth = (byte_at(in + 16, i) >> sub & 1) << 4;
      out[sub * 32 + i] =
          d * static_cast<float>((sub % 2 == 0 ? low_nibble(byte) : high_nibble(byte)) | fifth) - m;
    }
  }
}

// 128 bytes of low nibbles, 64 bytes of upper bit pairs, 16 signed scales, half d. Each half of 128 elements
// has four groups of 32: groups 0 and 1 are the low nibbles of its 64 bytes, 2 and 3 the high ones.
void q6_k_block(const std::byte* in, float* out) {
  const float scale = half_at(in + 208);
  for (std::size_t group = 0; group < 8; ++group) {
    const std::size_t half = group / 4;
    const std::size_t quarter = group % 4;
    const std::byte* nibbles = in + half * 64 + quarter % 2 * 32;
    const std::byte* pairs = in + 128 + half * 32;
    for (std::size_t i = 0; i < 32; ++i) {
      const auto byte = byte_at(nibbles, i);
      const int upper = (byte_at(pairs, i) >> (2 * quarter) & 3) << 4;
      const int quant = ((quarter < 2 ? low_nibble(byte) : high_nibble(byte)) | upper) - 32;
      const float d = scale * static_cast<float>(signed_at(in, 192 + group * 2 + i / 16));
      out[group * 32 + i] = d * static_cast<float>(quant);
    }
  }
}

template <std::size_t Elements, class Block>
void each_block(tensor_type type, const std::byte* source, std::size_t count, float* out, Block block) {
  const std::size_t bytes = block_bytes(type);
  for (std::size_t i = 0; i < count / Elements; ++i) block(source + i * bytes, out + i * Elements);
}

}  // namespace

void dequantize(tensor_type type, const std::byte* source, std::size_t count, float* out) {
  switch (type) {
    case tensor_type::f32:
      return each_block<1>(type, source, count, out, f32_element);
    case tensor_type::f16:
      return each_block<1>(type, source, count, out, f16_element);
    case tensor_type::bf16:
      return each_block<1>(type, source, count, out, bf16_element);
    case tensor_type::q4_0:
      return each_block<small_block>(type, source, count, out, q4_0_block);
    case tensor_type::q4_1:
      return each_block<small_block>(type, source, count, out, q4_1_block);
    case tensor_type::q5_0:
      return each_block<small_block>(type, source, count, out, q5_0_block);
    case tensor_type::q5_1:
      return each_block<small_block>(type, source, count, out, q5_1_block);
    case tensor_type::q8_0:
      return each_block<small_block>(type, source, count, out, q8_0_block);
    case tensor_type::q4_k:
      return each_block<super_block>(type, source, count, out, q4_k_block);
    case tensor_type::q5_k:
      return each_block<super_block>(type, source, count, out, q5_k_block);
    case tensor_type::q6_k:
      return each_block<super_block>(type, source, count, out, q6_k_block);
  }
  throw std::invalid_argument("dequantize: a tensor type that is not served");
}

}  // namespace troupe::gguf
