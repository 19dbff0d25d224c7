// One unit of a tiled matrix (kernels/tiled_weights.hpp) as a warp reads it.
#pragma once
#include "kernels/cuda/device.cuh"
#include "kernels/tiled_weights.hpp"

namespace troupe::kernels::cuda {

__device__ __forceinline__ std::uint32_t word_of(const uint4& four, int index) {
  return index == 0 ? four.x : index == 1 ? four.y : index == 2 ? four.z : four.w;
}

__device__ __forceinline__ std::uint32_t bits_of(__nv_bfloat162 pair) {
  return *reinterpret_cast<const std::uint32_t*>(&pair);
}

// The lane's part of a unit. Indices are known when it is compiled: all of it stays in registers.
template <weight_kind Kind>
struct tiled_unit {
  static constexpr std::size_t code_bytes = unit_code_bytes(Kind);
  static constexpr std::size_t bytes = unit_bytes(Kind);
  static constexpr bool has_nibbles = Kind == weight_kind::u4_min;
  static constexpr bool has_minimum = Kind == weight_kind::u4_min || Kind == weight_kind::s8_min;
  static constexpr bool has_halves = Kind == weight_kind::s8_half;

  uint4 codes[has_nibbles ? 1 : 2];
  uint4 scales;  // s8: the upper two words are unused

  // `unit` is read once in a step: its bytes need not stay in the caches.
  __device__ void load(const std::byte* unit, unsigned lane) {
    const auto* memory = reinterpret_cast<const uint4*>(unit);
    codes[0] = __ldcs(memory + lane);
    if constexpr (!has_nibbles) codes[1] = __ldcs(memory + 32 + lane);
    const std::byte* of_lane = unit + code_bytes;
    if constexpr (Kind == weight_kind::s8) {
      const uint2 two = __ldcs(reinterpret_cast<const uint2*>(of_lane) + lane / 4);
      scales = make_uint4(two.x, two.y, 0, 0);
    } else {
      scales = __ldcs(reinterpret_cast<const uint4*>(of_lane) + lane / 4);
    }
  }

  // Scale, and minimum or the second half's scale, of the output g + 8 * row in a group.
  __device__ float2 scales_of(int group, int row) const {
    if constexpr (Kind == weight_kind::s8) {
      const std::uint32_t word = group == 0 ? scales.x : scales.y;
      return make_float2(half_at(row == 0 ? word : word >> 16U), 0.0F);
    }
    const std::uint32_t word = word_of(scales, group * 2 + row);
    return make_float2(half_at(word), half_at(word >> 16U));
  }

  // Two codes as bf16, exactly: inputs 4 * t + 2 * pair and the next of a half.
  __device__ std::uint32_t pair_of(int group, int row, int half, int pair) const {
    if constexpr (has_nibbles) {
      // A nibble in the last bits of 128 is 128 more.
      const std::uint32_t word = word_of(codes[0], group * 2 + row) >> (4 * (2 * half + pair));
      const std::uint32_t raised = (word & 0x000F000FU) | 0x43004300U;
      const __nv_bfloat162 base = __floats2bfloat162_rn(128.0F, 128.0F);
      return bits_of(__hsub2(*reinterpret_cast<const __nv_bfloat162*>(&raised), base));
    } else {
      // A byte in the last bits of 2^23 is 2^23 more.
      const std::uint32_t word = word_of(codes[group], row * 2 + half);
      const std::uint32_t first = __byte_perm(word, 0x4B000000U, pair == 0 ? 0x7550U : 0x7552U);
      const std::uint32_t second = __byte_perm(word, 0x4B000000U, pair == 0 ? 0x7551U : 0x7553U);
      constexpr float base = 8388608.0F + 128.0F;
      return bits_of(__floats2bfloat162_rn(__uint_as_float(first) - base, __uint_as_float(second) - base));
    }
  }

 private:
  __device__ static float half_at(std::uint32_t bits) {
    return __half2float(__ushort_as_half(static_cast<unsigned short>(bits & 0xFFFFU)));
  }
};

}  // namespace troupe::kernels::cuda
