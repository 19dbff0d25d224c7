// Dot products of bytes with 15-bit codes by VPDPBUSD, for kernels/cpu/simd/attention_int8.hpp: a code is
// 128 * high + low with both in int8, and each part has its own sum.
#pragma once
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/avx512vnni/matmul.hpp"

namespace troupe::kernels {
namespace {

struct wide_dot {
  // How many tiles or columns of 16 share the loads of the codes: as many as 32 registers hold sums for.
  template <int Q>
  static constexpr int beside() {
    return Q == 1 ? 4 : Q <= 3 ? 2 : 1;
  }

  using lanes = __m512i;
  static lanes no_lanes() { return _mm512_setzero_si512(); }
  static std::int32_t fold(lanes x) { return _mm512_reduce_add_epi32(x); }

  // Rounds 16 values within +-16256; four codes lie as four high parts, then four low ones.
  static void store_codes(std::int16_t* to, __m512 values, lanes& sum) {
    const __m512i codes = _mm512_cvtps_epi32(values);
    sum = _mm512_add_epi32(sum, codes);
    const __m512i high = _mm512_srai_epi32(_mm512_add_epi32(codes, _mm512_set1_epi32(64)), 7);
    const __m128i high_bytes = _mm512_cvtepi32_epi8(high);
    const __m128i low_bytes = _mm512_cvtepi32_epi8(_mm512_sub_epi32(codes, _mm512_slli_epi32(high, 7)));
    auto* place = reinterpret_cast<__m128i*>(to);
    _mm_storeu_si128(place, _mm_unpacklo_epi32(high_bytes, low_bytes));
    _mm_storeu_si128(place + 1, _mm_unpackhi_epi32(high_bytes, low_bytes));
  }

  // High parts, then low ones.
  using sums = __m512i;
  static constexpr int parts = 2;
  static sums no_sums() { return _mm512_setzero_si512(); }

  // Query q: into[2 q ..] += 16 lanes of four unsigned bytes times the four codes at codes + q * stride.
  template <int Q>
  static void step(sums (&into)[Q * parts], const std::byte* bytes, const std::int16_t* codes,
                   std::size_t stride) {
    const __m512i group = _mm512_loadu_si512(bytes);
    for (int q = 0; q < Q; ++q) {
      const auto* four = reinterpret_cast<const quad*>(codes + static_cast<std::size_t>(q) * stride);
      into[2 * q] = _mm512_dpbusd_epi32(into[2 * q], group, _mm512_set1_epi32(four[0]));
      into[2 * q + 1] = _mm512_dpbusd_epi32(into[2 * q + 1], group, _mm512_set1_epi32(four[1]));
    }
  }

  static __m512 total(const sums* of, std::int32_t offset) {
    const __m512i sum = _mm512_add_epi32(_mm512_slli_epi32(of[0], 7), of[1]);
    return _mm512_cvtepi32_ps(_mm512_add_epi32(sum, _mm512_set1_epi32(offset)));
  }
};

}  // namespace
}  // namespace troupe::kernels
