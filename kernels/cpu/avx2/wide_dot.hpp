// Dot products of bytes with 15-bit codes by VPMADDWD, for kernels/cpu/simd/attention_int8.hpp.
#pragma once
#include <immintrin.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cpu/avx2/vector.hpp"

namespace troupe::kernels {
namespace {

// Four codes read as one word.
using fours __attribute__((may_alias)) = long long;

struct wide_dot {
  // 16 lanes of sums are four registers; three queries fill what there is.
  template <int Q>
  static constexpr int beside() {
    return 1;
  }

  using lanes = __m256i;
  static lanes no_lanes() { return _mm256_setzero_si256(); }
  static std::int32_t fold(lanes x) {
    __m128i four = _mm_add_epi32(_mm256_castsi256_si128(x), _mm256_extracti128_si256(x, 1));
    four = _mm_add_epi32(four, _mm_shuffle_epi32(four, 0x4E));
    return _mm_cvtsi128_si32(_mm_add_epi32(four, _mm_shuffle_epi32(four, 0xB1)));
  }

  // Rounds 16 values within +-16256.
  static void store_codes(std::int16_t* to, float_pair values, lanes& sum) {
    const __m256i low = _mm256_cvtps_epi32(values.low);
    const __m256i high = _mm256_cvtps_epi32(values.high);
    sum = _mm256_add_epi32(sum, _mm256_add_epi32(low, high));
    const __m256i words = _mm256_permute4x64_epi64(_mm256_packs_epi32(low, high), 0xD8);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(to), words);
  }

  // Register i holds lanes 4 i .. 4 i + 3, each as two halves that total() adds.
  using sums = __m256i;
  static constexpr int parts = 4;
  static sums no_sums() { return _mm256_setzero_si256(); }

  // Query q: into[4 q ..] += 16 lanes of four unsigned bytes times the four codes at codes + q * stride.
  template <int Q>
  static void step(sums (&into)[Q * parts], const std::byte* bytes, const std::int16_t* codes,
                   std::size_t stride) {
    for (int i = 0; i < 4; ++i) {
      const __m256i group =
          _mm256_cvtepu8_epi16(_mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes) + i));
      for (int q = 0; q < Q; ++q) {
        const auto* four = reinterpret_cast<const fours*>(codes + static_cast<std::size_t>(q) * stride);
        const __m256i products = _mm256_madd_epi16(group, _mm256_set1_epi64x(*four));
        into[q * parts + i] = _mm256_add_epi32(into[q * parts + i], products);
      }
    }
  }

  static __m256 eight(__m256i first, __m256i second, std::int32_t offset) {
    const __m256i added = _mm256_permute4x64_epi64(_mm256_hadd_epi32(first, second), 0xD8);
    return _mm256_cvtepi32_ps(_mm256_add_epi32(added, _mm256_set1_epi32(offset)));
  }
  static float_pair total(const sums* of, std::int32_t offset) {
    return {eight(of[0], of[1], offset), eight(of[2], of[3], offset)};
  }
};

}  // namespace
}  // namespace troupe::kernels
