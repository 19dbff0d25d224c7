// 16 floats in two AVX2 registers, for the templates in kernels/cpu/simd.
#pragma once
#include <immintrin.h>

#include <cstdint>

namespace troupe::kernels {
namespace {

struct float_pair {
  __m256 low, high;
};

struct vector16 {
  using type = float_pair;
  static constexpr std::int32_t queries_at_once = 3;  // more would not fit in 16 registers
  static constexpr std::int32_t sums_at_once = 6;     // beside what is added to them

  static type zero() { return {_mm256_setzero_ps(), _mm256_setzero_ps()}; }
  static type set(float x) { return {_mm256_set1_ps(x), _mm256_set1_ps(x)}; }
  static type load(const float* p) { return {_mm256_loadu_ps(p), _mm256_loadu_ps(p + 8)}; }
  static void store(float* p, type x) {
    _mm256_storeu_ps(p, x.low);
    _mm256_storeu_ps(p + 8, x.high);
  }
  static __m256i first_lanes(std::int32_t count) {
    return _mm256_cmpgt_epi32(_mm256_set1_epi32(count), _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7));
  }
  static type load_first(const float* p, std::int32_t count) {
    if (count <= 8) return {_mm256_maskload_ps(p, first_lanes(count)), _mm256_setzero_ps()};
    return {_mm256_loadu_ps(p), _mm256_maskload_ps(p + 8, first_lanes(count - 8))};
  }
  static void store_first(float* p, type x, std::int32_t count) {
    _mm256_maskstore_ps(p, first_lanes(count), x.low);
    if (count > 8) _mm256_maskstore_ps(p + 8, first_lanes(count - 8), x.high);
  }
  static type keep_first(type x, std::int32_t count, float other) {
    const __m256 rest = _mm256_set1_ps(other);
    return {_mm256_blendv_ps(rest, x.low, _mm256_castsi256_ps(first_lanes(count))),
            _mm256_blendv_ps(rest, x.high, _mm256_castsi256_ps(first_lanes(count - 8)))};
  }
  static type load_f16(const std::uint16_t* p) {
    return {_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p))),
            _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(p + 8)))};
  }
  static void store_f16(std::uint16_t* p, type x) {
    auto* to = reinterpret_cast<__m128i*>(p);
    _mm_storeu_si128(to, _mm256_cvtps_ph(x.low, _MM_FROUND_TO_NEAREST_INT));
    _mm_storeu_si128(to + 1, _mm256_cvtps_ph(x.high, _MM_FROUND_TO_NEAREST_INT));
  }

  static type add(type a, type b) { return {_mm256_add_ps(a.low, b.low), _mm256_add_ps(a.high, b.high)}; }
  static type sub(type a, type b) { return {_mm256_sub_ps(a.low, b.low), _mm256_sub_ps(a.high, b.high)}; }
  static type mul(type a, type b) { return {_mm256_mul_ps(a.low, b.low), _mm256_mul_ps(a.high, b.high)}; }
  static type div(type a, type b) { return {_mm256_div_ps(a.low, b.low), _mm256_div_ps(a.high, b.high)}; }
  static type fma(type a, type b, type c) {
    return {_mm256_fmadd_ps(a.low, b.low, c.low), _mm256_fmadd_ps(a.high, b.high, c.high)};
  }
  // b where either is NaN.
  static type max(type a, type b) { return {_mm256_max_ps(a.low, b.low), _mm256_max_ps(a.high, b.high)}; }
  static type min(type a, type b) { return {_mm256_min_ps(a.low, b.low), _mm256_min_ps(a.high, b.high)}; }
  static type absolute(type x) {
    const __m256 sign = _mm256_set1_ps(-0.0F);
    return {_mm256_andnot_ps(sign, x.low), _mm256_andnot_ps(sign, x.high)};
  }
  static type negate(type x) {
    const __m256 sign = _mm256_set1_ps(-0.0F);
    return {_mm256_xor_ps(sign, x.low), _mm256_xor_ps(sign, x.high)};
  }
  static type round(type x) {
    constexpr int mode = _MM_FROUND_TO_NEAREST_INT | _MM_FROUND_NO_EXC;
    return {_mm256_round_ps(x.low, mode), _mm256_round_ps(x.high, mode)};
  }
  static __m256 power_of_two(__m256 n) {
    const __m256i exponent = _mm256_add_epi32(_mm256_cvtps_epi32(n), _mm256_set1_epi32(127));
    return _mm256_castsi256_ps(_mm256_slli_epi32(exponent, 23));
  }
  static type power_of_two(type n) { return {power_of_two(n.low), power_of_two(n.high)}; }

  static float first(type x) { return _mm256_cvtss_f32(x.low); }
  static float fold_sum(type x) {
    const __m256 eight = _mm256_add_ps(x.low, x.high);
    const __m128 four = _mm_add_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_add_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_add_ss(two, _mm_movehdup_ps(two)));
  }
  static float fold_max(type x) {
    const __m256 eight = _mm256_max_ps(x.low, x.high);
    const __m128 four = _mm_max_ps(_mm256_castps256_ps128(eight), _mm256_extractf128_ps(eight, 1));
    const __m128 two = _mm_max_ps(four, _mm_movehl_ps(four, four));
    return _mm_cvtss_f32(_mm_max_ss(two, _mm_movehdup_ps(two)));
  }
  static __m128i to_codes(type x) {
    const type kept = min(max(x, set(-127.0F)), set(127.0F));
    const __m256i words = _mm256_packs_epi32(_mm256_cvtps_epi32(kept.low), _mm256_cvtps_epi32(kept.high));
    const __m256i ordered = _mm256_permute4x64_epi64(words, 0xD8);
    return _mm_packs_epi16(_mm256_castsi256_si128(ordered), _mm256_extracti128_si256(ordered, 1));
  }
  // Sums and differences of lanes at distance 1, 2, 4, 8: a Hadamard transform of 16.
  static type hadamard(type x) {
    const type within{hadamard(x.low), hadamard(x.high)};
    return {_mm256_add_ps(within.low, within.high), _mm256_sub_ps(within.low, within.high)};
  }
  static __m256 hadamard(__m256 x) {
    x = sums_and_differences<0xAA>(_mm256_permute_ps(x, 0xB1), x);
    x = sums_and_differences<0xCC>(_mm256_permute_ps(x, 0x4E), x);
    return sums_and_differences<0xF0>(_mm256_permute2f128_ps(x, x, 1), x);
  }
  template <int Differences>
  static __m256 sums_and_differences(__m256 partner, __m256 x) {
    return _mm256_blend_ps(_mm256_add_ps(partner, x), _mm256_sub_ps(partner, x), Differences);
  }
  // 128 + the value rounded within +-127.
  static void store_raised_codes(std::uint8_t* p, type x) {
    const __m128i raise = _mm_set1_epi8(static_cast<char>(-128));
    _mm_storeu_si128(reinterpret_cast<__m128i*>(p), _mm_xor_si128(to_codes(x), raise));
  }
  // Rounds to int8 within +-127; stores 32 codes and the sum of each half.
  static void store_codes(std::int8_t* p, type low, type high, std::int32_t (&sums)[2]) {
    const __m256i codes = _mm256_inserti128_si256(_mm256_castsi128_si256(to_codes(low)), to_codes(high), 1);
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(p), codes);
    const __m256i pairs = _mm256_maddubs_epi16(_mm256_set1_epi8(1), codes);
    __m256i sum = _mm256_madd_epi16(pairs, _mm256_set1_epi16(1));
    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0x4E));
    sum = _mm256_add_epi32(sum, _mm256_shuffle_epi32(sum, 0xB1));
    sums[0] = _mm256_extract_epi32(sum, 0);
    sums[1] = _mm256_extract_epi32(sum, 4);
  }
};

}  // namespace
}  // namespace troupe::kernels
