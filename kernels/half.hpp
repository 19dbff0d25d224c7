// IEEE binary16 and bfloat16 in plain integer arithmetic, for packing and for the reference kernels.
#pragma once
#include <bit>
#include <cstdint>

namespace troupe::kernels {

inline float f16_to_f32(std::uint16_t half) {
  const std::uint32_t sign = static_cast<std::uint32_t>(half & 0x8000U) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1FU;
  const std::uint32_t fraction = half & 0x3FFU;
  if (exponent == 31) return std::bit_cast<float>(sign | 0x7F800000U | (fraction << 13));
  if (exponent != 0) return std::bit_cast<float>(sign | ((exponent + 112) << 23) | (fraction << 13));
  const float magnitude = static_cast<float>(fraction) * 0x1p-24F;
  return sign != 0 ? -magnitude : magnitude;
}

// Rounds to nearest, ties to even; too large becomes infinity, NaN stays NaN.
inline std::uint16_t f32_to_f16(float value) {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const auto sign = static_cast<std::uint16_t>((bits >> 16) & 0x8000U);
  const std::uint32_t magnitude = bits & 0x7FFFFFFFU;
  if (magnitude > 0x7F800000U) return static_cast<std::uint16_t>(sign | 0x7E00U);
  if (magnitude >= 0x47800000U) return static_cast<std::uint16_t>(sign | 0x7C00U);
  std::uint32_t rounded = 0;
  if (magnitude < 0x38800000U) {
    // Below the smallest normal half: the addition of 0.5 makes the float unit round at the last place of a
    // half.
    const float shifted = std::bit_cast<float>(magnitude) + 0.5F;
    rounded = std::bit_cast<std::uint32_t>(shifted) - 0x3F000000U;
  } else {
    rounded = (magnitude + 0xC8000FFFU + ((magnitude >> 13) & 1U)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | rounded);
}

inline float bf16_to_f32(std::uint16_t value) {
  return std::bit_cast<float>(static_cast<std::uint32_t>(value) << 16);
}

}  // namespace troupe::kernels
