// Arithmetic that nvcc knows without a header. The fast forms are the exact ones here: a device's last bits
// differ.
#pragma once
#include <vector_types.h>

#include <bit>
#include <cmath>
#include <cstdint>

#include "kernels/cuda/emulation/early_launch.hpp"

inline float rsqrtf(float x) { return 1.0F / std::sqrt(x); }
inline float __expf(float x) { return std::exp(x); }
inline float __logf(float x) { return std::log(x); }
inline float __log2f(float x) { return std::log2(x); }
inline float __fdividef(float x, float y) { return x / y; }
inline float __frcp_rn(float x) { return 1.0F / x; }
inline float __fsqrt_rn(float x) { return std::sqrt(x); }
inline float __frsqrt_rn(float x) { return 1.0F / std::sqrt(x); }
inline float __fadd_rn(float x, float y) { return x + y; }
inline float __fsub_rn(float x, float y) { return x - y; }
inline float __fmul_rn(float x, float y) { return x * y; }
inline float __fdiv_rn(float x, float y) { return x / y; }
inline float __fmaf_rn(float x, float y, float z) { return std::fma(x, y, z); }
inline double __dadd_rn(double x, double y) { return x + y; }
inline double __dmul_rn(double x, double y) { return x * y; }
inline float __saturatef(float x) { return x > 0.0F ? (x < 1.0F ? x : 1.0F) : 0.0F; }  // NaN becomes 0

inline int __float_as_int(float x) { return std::bit_cast<int>(x); }
inline unsigned __float_as_uint(float x) { return std::bit_cast<unsigned>(x); }
inline float __int_as_float(int x) { return std::bit_cast<float>(x); }
inline float __uint_as_float(unsigned x) { return std::bit_cast<float>(x); }
inline long long __double_as_longlong(double x) { return std::bit_cast<long long>(x); }
inline double __longlong_as_double(long long x) { return std::bit_cast<double>(x); }
inline int __float2int_rn(float x) { return static_cast<int>(std::nearbyint(x)); }
inline int __float2int_rz(float x) { return static_cast<int>(x); }
inline unsigned __float2uint_rn(float x) { return static_cast<unsigned>(std::nearbyint(x)); }
inline float __int2float_rn(int x) { return static_cast<float>(x); }
inline float __uint2float_rn(unsigned x) { return static_cast<float>(x); }

inline int __popc(unsigned x) { return std::popcount(x); }
inline int __popcll(unsigned long long x) { return std::popcount(x); }
inline int __clz(int x) { return std::countl_zero(static_cast<unsigned>(x)); }
inline int __ffs(int x) { return x == 0 ? 0 : std::countr_zero(static_cast<unsigned>(x)) + 1; }
inline unsigned __umulhi(unsigned x, unsigned y) {
  return static_cast<unsigned>((static_cast<std::uint64_t>(x) * y) >> 32);
}
inline unsigned __brev(unsigned x) {
  unsigned reversed = 0;
  for (int bit = 0; bit < 32; bit++) reversed |= ((x >> bit) & 1U) << (31 - bit);
  return reversed;
}
inline unsigned __funnelshift_r(unsigned low, unsigned high, unsigned shift) {
  return static_cast<unsigned>(((static_cast<std::uint64_t>(high) << 32) | low) >> (shift & 31U));
}
// Bytes of x (selectors 0 to 3) and y (4 to 7); bit 3 of a selector spreads the byte's sign.
inline unsigned __byte_perm(unsigned x, unsigned y, unsigned selectors) {
  const std::uint64_t bytes = (static_cast<std::uint64_t>(y) << 32) | x;
  unsigned result = 0;
  for (unsigned i = 0; i < 4; i++) {
    const unsigned selector = (selectors >> (4 * i)) & 0xFU;
    auto byte = static_cast<unsigned>(bytes >> (8 * (selector & 7U))) & 0xFFU;
    if ((selector & 8U) != 0) byte = (byte & 0x80U) != 0 ? 0xFFU : 0U;
    result |= byte << (8 * i);
  }
  return result;
}
// c plus the products of four signed bytes.
inline int __dp4a(int a, int b, int c) {
  for (int i = 0; i < 4; i++)
    c += static_cast<std::int8_t>(a >> (8 * i)) * static_cast<std::int8_t>(b >> (8 * i));
  return c;
}

inline int min(int a, int b) { return a < b ? a : b; }
inline int max(int a, int b) { return a > b ? a : b; }
inline unsigned min(unsigned a, unsigned b) { return a < b ? a : b; }
inline unsigned max(unsigned a, unsigned b) { return a > b ? a : b; }
inline long long min(long long a, long long b) { return a < b ? a : b; }
inline long long max(long long a, long long b) { return a > b ? a : b; }
inline float min(float a, float b) { return std::fmin(a, b); }
inline float max(float a, float b) { return std::fmax(a, b); }

// Loads that go through the read-only cache on a device, or past the caches.
template <class T>
T __ldg(const T* memory) {
  ::troupe::kernels::cuda::emulation::check_read_only_load(memory, sizeof(T));
  return *memory;
}
template <class T>
T __ldcs(const T* memory) {
  return *memory;
}
template <class T>
T __ldcg(const T* memory) {
  return *memory;
}
template <class T>
void __stcs(T* memory, T value) {
  *memory = value;
}
