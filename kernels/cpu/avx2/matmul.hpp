// Matrix products by VPMADDUBSW. 8-bit weights go in as |w| with the sign moved to the activation, so that
// the sum of two products stays below 128 * 127 * 2 < 32768 and cannot saturate.
#pragma once
#include <immintrin.h>

#include "kernels/kernel_table.hpp"

namespace troupe::kernels {
namespace {

// Four codes read as one word.
using quad __attribute__((may_alias)) = std::int32_t;

inline __m256 halves_to_floats(const std::byte* p) {
  return _mm256_cvtph_ps(_mm_load_si128(reinterpret_cast<const __m128i*>(p)));
}

inline void store_outputs(float* out, __m256 value, bool accumulate) {
  _mm256_storeu_ps(out, accumulate ? _mm256_add_ps(_mm256_loadu_ps(out), value) : value);
}

inline __m256i load_bytes(const std::byte* p) {
  return _mm256_load_si256(reinterpret_cast<const __m256i*>(p));
}

inline __m256i broadcast_quad(const std::int8_t* p) {
  return _mm256_set1_epi32(*reinterpret_cast<const quad*>(p));
}

// Codes of 8 outputs x 4 inputs x 8: nibbles as they are, bytes as signed values.
template <weight_kind Kind>
inline void load_codes(const std::byte* panel, std::int32_t group, int half, __m256i (&codes)[8]) {
  if constexpr (Kind == weight_kind::u4_min) {
    const __m256i low = _mm256_set1_epi8(15);
    const std::byte* from = panel + static_cast<std::size_t>(group) * 256 + half * 32;
    for (int i = 0; i < 4; ++i) {
      const __m256i pair = load_bytes(from + i * 64);
      codes[2 * i] = _mm256_and_si256(pair, low);
      codes[2 * i + 1] = _mm256_and_si256(_mm256_srli_epi16(pair, 4), low);
    }
  } else {
    const __m256i sign = _mm256_set1_epi8(-128);
    const std::byte* from = panel + static_cast<std::size_t>(group) * 512 + half * 32;
    for (int i = 0; i < 8; ++i) codes[i] = _mm256_xor_si256(load_bytes(from + i * 64), sign);
  }
}

template <weight_kind Kind, int From, int To>
inline __m256i dot(const __m256i (&codes)[8], const std::int8_t* activations) {
  const __m256i ones = _mm256_set1_epi16(1);
  __m256i sum = _mm256_setzero_si256();
  if constexpr (Kind == weight_kind::u4_min) {  // 8 * 2 * 15 * 127 < 32768: one widening is enough
    for (int i = From; i < To; ++i) {
      sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(codes[i], broadcast_quad(activations + i * 4)));
    }
    return _mm256_madd_epi16(sum, ones);
  } else {
    for (int i = From; i < To; ++i) {
      const __m256i signed_quad = _mm256_sign_epi8(broadcast_quad(activations + i * 4), codes[i]);
      const __m256i pairs = _mm256_maddubs_epi16(_mm256_abs_epi8(codes[i]), signed_quad);
      sum = _mm256_add_epi32(sum, _mm256_madd_epi16(pairs, ones));
    }
    return sum;
  }
}

inline __m256 scaled_add(__m256i sum, __m256 weight_scale, float input_scale, __m256 acc) {
  const __m256 scale = _mm256_mul_ps(weight_scale, _mm256_set1_ps(input_scale));
  return _mm256_fmadd_ps(_mm256_cvtepi32_ps(sum), scale, acc);
}

// Rows first .. first + Rows of one block of 8.
template <weight_kind Kind, int Rows>
void quantized_tile(const packed_matrix& w, const std::byte* panel, int half, const activation_rows& x,
                    std::size_t row, float* out, std::size_t out_stride, bool accumulate) {
  __m256 acc[Rows];
  for (int r = 0; r < Rows; ++r) acc[r] = _mm256_setzero_ps();
  const quantized_group* input = x.groups + row / row_block * x.groups_per_row * row_block + row % row_block;
  const std::int32_t groups = w.inputs / group_inputs;
  for (std::int32_t g = 0; g < groups; ++g, input += row_block) {
    __m256i codes[8];
    load_codes<Kind>(panel, g, half, codes);
    constexpr bool halves = Kind == weight_kind::s8_half;
    constexpr bool has_min = Kind == weight_kind::u4_min || Kind == weight_kind::s8_min;
    const std::size_t plane =
        static_cast<std::size_t>(g) * (halves ? 64 : 32) + static_cast<std::size_t>(half) * 16;
    const __m256 scale = halves_to_floats(panel + w.scale_offset + plane);
    const __m256 second = halves ? halves_to_floats(panel + w.scale_offset + plane + 32) : scale;
    const __m256 minimum = has_min ? halves_to_floats(panel + w.min_offset + plane) : scale;
    for (int r = 0; r < Rows; ++r) {
      if constexpr (halves) {
        acc[r] = scaled_add(dot<Kind, 0, 4>(codes, input[r].codes), scale, input[r].scale, acc[r]);
        acc[r] = scaled_add(dot<Kind, 4, 8>(codes, input[r].codes), second, input[r].scale, acc[r]);
      } else {
        acc[r] = scaled_add(dot<Kind, 0, 8>(codes, input[r].codes), scale, input[r].scale, acc[r]);
        if constexpr (has_min) acc[r] = _mm256_fmadd_ps(minimum, _mm256_set1_ps(input[r].sum), acc[r]);
      }
    }
  }
  for (int r = 0; r < Rows; ++r)
    store_outputs(out + static_cast<std::size_t>(r) * out_stride, acc[r], accumulate);
}

template <weight_kind Kind>
inline __m256 load_floats(const std::byte* panel, std::int32_t k, int half) {
  const auto at = static_cast<std::size_t>(k) * 16 + static_cast<std::size_t>(half) * 8;
  if constexpr (Kind == weight_kind::f32) {
    return _mm256_load_ps(reinterpret_cast<const float*>(panel) + at);
  } else if constexpr (Kind == weight_kind::f16) {
    return halves_to_floats(panel + at * 2);
  } else {
    const __m128i bits = _mm_load_si128(reinterpret_cast<const __m128i*>(panel + at * 2));
    return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(bits), 16));
  }
}

template <weight_kind Kind, int Rows>
void float_tile(const packed_matrix& w, const std::byte* panel, int half, const activation_rows& x,
                std::size_t row, float* out, std::size_t out_stride, bool accumulate) {
  __m256 acc[Rows];
  for (int r = 0; r < Rows; ++r) acc[r] = _mm256_setzero_ps();
  const float* values = x.values + row * x.value_stride;
  for (std::int32_t k = 0; k < w.inputs; ++k) {
    const __m256 weights = load_floats<Kind>(panel, k, half);
    for (int r = 0; r < Rows; ++r) {
      const float value = values[static_cast<std::size_t>(r) * x.value_stride + static_cast<std::size_t>(k)];
      acc[r] = _mm256_fmadd_ps(weights, _mm256_set1_ps(value), acc[r]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    store_outputs(out + static_cast<std::size_t>(r) * out_stride, acc[r], accumulate);
}

template <weight_kind Kind, int Rows>
inline void tile(const packed_matrix& w, const std::byte* panel, const activation_rows& x, std::size_t row,
                 float* out, std::size_t stride, bool accumulate) {
  for (int half = 0; half < 2; ++half) {
    float* to = out + row * stride + half * 8;
    if constexpr (Kind >= weight_kind::f16) {
      float_tile<Kind, Rows>(w, panel, half, x, row, to, stride, accumulate);
    } else {
      quantized_tile<Kind, Rows>(w, panel, half, x, row, to, stride, accumulate);
    }
  }
}

template <weight_kind Kind>
void matmul_kind(const packed_matrix& w, std::int32_t first, std::int32_t last, const activation_rows& x,
                 std::int32_t rows, float* out, std::size_t stride, bool accumulate) {
  for (std::int32_t p = first; p < last; ++p) {
    const std::byte* panel = w.data + static_cast<std::size_t>(p) * w.panel_bytes;
    float* to = out + static_cast<std::size_t>(p) * panel_outputs;
    std::size_t row = 0;
    auto left = static_cast<std::size_t>(rows);
    for (; left >= 4; left -= 4, row += 4) tile<Kind, 4>(w, panel, x, row, to, stride, accumulate);
    for (; left >= 2; left -= 2, row += 2) tile<Kind, 2>(w, panel, x, row, to, stride, accumulate);
    if (left == 1) tile<Kind, 1>(w, panel, x, row, to, stride, accumulate);
  }
}

void matmul(const packed_matrix& w, std::int32_t first, std::int32_t last, const activation_rows& x,
            std::int32_t rows, float* out, std::size_t stride, bool accumulate) {
  switch (w.kind) {
    case weight_kind::u4_min:
      return matmul_kind<weight_kind::u4_min>(w, first, last, x, rows, out, stride, accumulate);
    case weight_kind::s8:
      return matmul_kind<weight_kind::s8>(w, first, last, x, rows, out, stride, accumulate);
    case weight_kind::s8_min:
      return matmul_kind<weight_kind::s8_min>(w, first, last, x, rows, out, stride, accumulate);
    case weight_kind::s8_half:
      return matmul_kind<weight_kind::s8_half>(w, first, last, x, rows, out, stride, accumulate);
    case weight_kind::f16:
      return matmul_kind<weight_kind::f16>(w, first, last, x, rows, out, stride, accumulate);
    case weight_kind::bf16:
      return matmul_kind<weight_kind::bf16>(w, first, last, x, rows, out, stride, accumulate);
    case weight_kind::f32:
      return matmul_kind<weight_kind::f32>(w, first, last, x, rows, out, stride, accumulate);
  }
}

}  // namespace
}  // namespace troupe::kernels
