// 16 floats in one AVX-512 register, for the templates in kernels/cpu/simd.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace troupe::kernels {
namespace {

struct vector16 {
  using type = __m512;
  static constexpr std::int32_t queries_at_once = 6;
  static constexpr std::int32_t sums_at_once = 24;  // beside what is added to them

  static type zero() { return _mm512_setzero_ps(); }
  static type set(float x) { return _mm512_set1_ps(x); }
  static type load(const float* p) { return _mm512_loadu_ps(p); }
  static void store(float* p, type x) { _mm512_storeu_ps(p, x); }
  static __mmask16 first_lanes(std::int32_t count) {
    return static_cast<__mmask16>(count >= 16 ? 0xFFFFU : count <= 0 ? 0U : (1U << count) - 1U);
  }
  static type load_first(const float* p, std::int32_t count) {
    return _mm512_maskz_loadu_ps(first_lanes(count), p);
  }
  static void store_first(float* p, type x, std::int32_t count) {
    _mm512_mask_storeu_ps(p, first_lanes(count), x);
  }
  static type keep_first(type x, std::int32_t count, float other) {
    return _mm512_mask_blend_ps(first_lanes(count), set(other), x);
  }
  static type load_f16(const std::uint16_t* p) {
    return _mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(p)));
  }
  static void store_f16(std::uint16_t* p, type x) {
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), _mm512_cvtps_ph(x, _MM_FROUND_TO_NEAREST_INT));
  }

  static type add(type a, type b) { return _mm512_add_ps(a, b); }
  static type sub(type a, type b) { return _mm512_sub_ps(a, b); }
  static type mul(type a, type b) { return _mm512_mul_ps(a, b); }
  static type div(type a, type b) { return _mm512_div_ps(a, b); }
  static type fma(type a, type b, type c) { return _mm512_fmadd_ps(a, b, c); }
  static type max(type a, type b) { return _mm512_max_ps(a, b); }  // b where either is NaN
  static type min(type a, type b) { return _mm512_min_ps(a, b); }
  static type absolute(type x) { return _mm512_abs_ps(x); }
  static type negate(type x) { return _mm512_xor_ps(x, set(-0.0F)); }
  static type round(type x) { return _mm512_roundscale_ps(x, _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC); }
  static type power_of_two(type n) {
    const __m512i exponent = _mm512_add_epi32(_mm512_cvtps_epi32(n), _mm512_set1_epi32(127));
    return _mm512_castsi512_ps(_mm512_slli_epi32(exponent, 23));
  }

  static float first(type x) { return _mm512_cvtss_f32(x); }
  static float fold_sum(type x) {
    const __m256 eight = _mm256_add_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static float fold_max(type x) {
    const __m256 eight = _mm256_max_ps(_mm512_castps512_ps256(x), _mm512_extractf32x8_ps(x, 1));
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  // Sums and differences of lanes at distance 1, 2, 4, 8: a Hadamard transform of 16.
  static type hadamard(type x) {
    x = sums_and_differences(_mm512_permute_ps(x, 0xB1), x, 0xAAAA);
    x = sums_and_differences(_mm512_permute_ps(x, 0x4E), x, 0xCCCC);
    x = sums_and_differences(_mm512_shuffle_f32x4(x, x, 0xB1), x, 0xF0F0);
    return sums_and_differences(_mm512_shuffle_f32x4(x, x, 0x4E), x, 0xFF00);
  }
  static type sums_and_differences(type partner, type x, __mmask16 differences) {
    return _mm512_mask_sub_ps(_mm512_add_ps(partner, x), differences, partner, x);
  }
  // 128 + the value rounded within +-127.
  static void store_raised_codes(std::uint8_t* p, type x) {
    const __m512i codes = _mm512_cvtps_epi32(min(max(x, set(-127.0F)), set(127.0F)));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p),
                     _mm512_cvtepi32_epi8(_mm512_add_epi32(codes, _mm512_set1_epi32(128))));
  }
  // Rounds to int8 within +-127; stores 32 codes and the sum of each half.
  static void store_codes(std::int8_t* p, type low, type high, std::int32_t (&sums)[2]) {
    const __m128i first = _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(min(max(low, set(-127.0F)), set(127.0F))));
    const __m128i second =
        _mm512_cvtepi32_epi8(_mm512_cvtps_epi32(min(max(high, set(-127.0F)), set(127.0F))));
    const __m256i codes = _mm256_inserti128_si256(_mm256_castsi128_si256(first), second, 1);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), codes);
    __m256i sum = _mm256_dpbusd_epi32(_mm256_setzero_si256(), _mm256_set1_epi8(1), codes);
    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, _MM_PERM_BADC));
    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, _MM_PERM_CDAB));
    sums[0] = _mm256_cvtsi256_si32(sum);
    sums[1] = _mm256_extract_epi32(sum, 4);
  }
};

}  // namespace
}  // namespace troupe::kernels
