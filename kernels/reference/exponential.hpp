// exp() as every kernel computes it: Cephes' single-precision polynomial (Moshier, "expf.c"), by fused
// multiply-adds.
#pragma once
#include <bit>
#include <cmath>
#include <cstdint>

namespace troupe::kernels::reference {

inline float exponential(float x) {
  x = x > -87.0F ? x : -87.0F;
  x = x < 88.0F ? x : 88.0F;
  const float n = std::nearbyint(x * 1.44269504088896341F);
  float r = std::fma(n, -0.693359375F, x);
  r = std::fma(n, 2.12194440e-4F, r);
  float p = 1.9875691500e-4F;
  p = std::fma(p, r, 1.3981999507e-3F);
  p = std::fma(p, r, 8.3334519073e-3F);
  p = std::fma(p, r, 4.1665795894e-2F);
  p = std::fma(p, r, 1.6666665459e-1F);
  p = std::fma(p, r, 5.0000001201e-1F);
  const float y = std::fma(p, r * r, r) + 1.0F;
  return y * std::bit_cast<float>(static_cast<std::uint32_t>(static_cast<std::int32_t>(n) + 127) << 23);
}

// The sum of 16 lanes, folded in halves: 8, 4, 2, 1.
inline float fold_sum(const float (&lanes)[16]) {
  float folded[16];
  for (int i = 0; i < 16; ++i) folded[i] = lanes[i];
  for (int half = 8; half > 0; half /= 2) {
    for (int i = 0; i < half; ++i) folded[i] = folded[i] + folded[i + half];
  }
  return folded[0];
}

}  // namespace troupe::kernels::reference
