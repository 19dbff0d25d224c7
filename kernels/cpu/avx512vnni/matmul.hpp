// Matrix products by VPDPBUSD: unsigned weight codes times signed activation codes, 16 outputs of 4 inputs at
// a time.
#pragma once
#include <immintrin.h>

#include "kernels/kernel_table.hpp"

namespace troupe::kernels {
namespace {

// Four codes read as one word.
using quad __attribute__((may_alias)) = std::int32_t;

inline __m512 halves_to_floats(const std::byte* p) {
  return _mm512_cvtph_ps(_mm256_load_si256(reinterpret_cast<const __m256i*>(p)));
}

inline void store_outputs(float* out, __m512 value, bool accumulate) {
  _mm512_storeu_ps(out, accumulate ? _mm512_add_ps(_mm512_loadu_ps(out), value) : value);
}

// The 8 rows of 16 outputs x 4 inputs of one group, as unsigned bytes.
template <weight_kind Kind>
inline void load_codes(const std::byte* panel, std::int32_t group, __m512i (&codes)[8]) {
  if constexpr (Kind == weight_kind::u4_min) {
    const __m512i low = _mm512_set1_epi8(15);
    const std::byte* from = panel + static_cast<std::size_t>(group) * 256;
    for (int i = 0; i < 4; ++i) {
      const __m512i pair = _mm512_load_si512(from + i * 64);
      codes[2 * i] = _mm512_and_si512(pair, low);
      codes[2 * i + 1] = _mm512_and_si512(_mm512_srli_epi16(pair, 4), low);
    }
  } else {
    const std::byte* from = panel + static_cast<std::size_t>(group) * 512;
    for (int i = 0; i < 8; ++i) codes[i] = _mm512_load_si512(from + i * 64);
  }
}

// start + dot product of codes [From, To) with 4 activation codes each.
template <int From, int To>
inline __m512i dot(const __m512i (&codes)[8], const std::int8_t* activations, __m512i start) {
  const auto* quads = reinterpret_cast<const quad*>(activations);
  __m512i even = start;
  __m512i odd = _mm512_setzero_si512();
  for (int i = From; i < To; i += 2) {
    even = _mm512_dpbusd_epi32(even, codes[i], _mm512_set1_epi32(quads[i]));
    odd = _mm512_dpbusd_epi32(odd, codes[i + 1], _mm512_set1_epi32(quads[i + 1]));
  }
  return _mm512_add_epi32(even, odd);
}

inline __m512 scaled_add(__m512i sum, __m512 weight_scale, float input_scale, __m512 acc) {
  const __m512 scale = _mm512_mul_ps(weight_scale, _mm512_set1_ps(input_scale));
  return _mm512_fmadd_ps(_mm512_cvtepi32_ps(sum), scale, acc);
}

// Asks for a group's part of the panel after this one: far enough ahead to hide the memory's latency, and
// across the pages where the hardware's own prefetch ends.
template <weight_kind Kind>
inline void prefetch_next(const packed_matrix& w, const std::byte* panel, std::int32_t group) {
  constexpr std::size_t code_bytes = Kind == weight_kind::u4_min ? 256 : 512;
  const std::byte* next = panel + w.panel_bytes;
  const std::byte* codes = next + static_cast<std::size_t>(group) * code_bytes;
  for (std::size_t i = 0; i < code_bytes; i += 64) _mm_prefetch(codes + i, _MM_HINT_T1);
  _mm_prefetch(next + w.scale_offset + static_cast<std::size_t>(group) * 32, _MM_HINT_T1);
  if constexpr (Kind != weight_kind::s8) {
    _mm_prefetch(next + w.min_offset + static_cast<std::size_t>(group) * 32, _MM_HINT_T1);
  }
}

// Rows row .. row + Rows of one block of 8.
template <weight_kind Kind, int Rows>
void quantized_tile(const packed_matrix& w, const std::byte* panel, const activation_rows& x, std::size_t row,
                    float* out, std::size_t out_stride, bool accumulate) {
  __m512 acc[Rows];
  for (int r = 0; r < Rows; ++r) acc[r] = _mm512_setzero_ps();
  const quantized_group* input = x.groups + row / row_block * x.groups_per_row * row_block + row % row_block;
  const std::int32_t groups = w.inputs / group_inputs;
  for (std::int32_t g = 0; g < groups; ++g, input += row_block) {
    __m512i codes[8];
    prefetch_next<Kind>(w, panel, g);
    load_codes<Kind>(panel, g, codes);
    constexpr bool halves = Kind == weight_kind::s8_half;
    constexpr bool has_min = Kind == weight_kind::u4_min || Kind == weight_kind::s8_min;
    const std::size_t plane = static_cast<std::size_t>(g) * (halves ? 64 : 32);
    const __m512 scale = halves_to_floats(panel + w.scale_offset + plane);
    const __m512 second = halves ? halves_to_floats(panel + w.scale_offset + plane + 32) : scale;
    const __m512 minimum = has_min ? halves_to_floats(panel + w.min_offset + plane) : scale;
    for (int r = 0; r < Rows; ++r) {
      if constexpr (halves) {
        const __m512i low = dot<0, 4>(codes, input[r].codes, _mm512_set1_epi32(input[r].half_offsets[0]));
        const __m512i high = dot<4, 8>(codes, input[r].codes, _mm512_set1_epi32(input[r].half_offsets[1]));
        acc[r] = scaled_add(low, scale, input[r].scale, acc[r]);
        acc[r] = scaled_add(high, second, input[r].scale, acc[r]);
      } else {
        const bool offset = Kind != weight_kind::u4_min;
        const __m512i start = offset ? _mm512_set1_epi32(input[r].offset) : _mm512_setzero_si512();
        acc[r] = scaled_add(dot<0, 8>(codes, input[r].codes, start), scale, input[r].scale, acc[r]);
        if constexpr (has_min) acc[r] = _mm512_fmadd_ps(minimum, _mm512_set1_ps(input[r].sum), acc[r]);
      }
    }
  }
  for (int r = 0; r < Rows; ++r)
    store_outputs(out + static_cast<std::size_t>(r) * out_stride, acc[r], accumulate);
}

template <weight_kind Kind>
inline __m512 load_floats(const std::byte* panel, std::int32_t k) {
  if constexpr (Kind == weight_kind::f32) {
    return _mm512_load_ps(panel + static_cast<std::size_t>(k) * 64);
  } else if constexpr (Kind == weight_kind::f16) {
    return halves_to_floats(panel + static_cast<std::size_t>(k) * 32);
  } else {
    const auto* p = reinterpret_cast<const __m256i*>(panel + static_cast<std::size_t>(k) * 32);
    return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(_mm256_load_si256(p)), 16));
  }
}

template <weight_kind Kind, int Rows>
void float_tile(const packed_matrix& w, const std::byte* panel, const activation_rows& x, std::size_t row,
                float* out, std::size_t out_stride, bool accumulate) {
  __m512 acc[Rows];
  for (int r = 0; r < Rows; ++r) acc[r] = _mm512_setzero_ps();
  const float* values = x.values + row * x.value_stride;
  for (std::int32_t k = 0; k < w.inputs; ++k) {
    const __m512 weights = load_floats<Kind>(panel, k);
    for (int r = 0; r < Rows; ++r) {
      const float value = values[static_cast<std::size_t>(r) * x.value_stride + static_cast<std::size_t>(k)];
      acc[r] = _mm512_fmadd_ps(weights, _mm512_set1_ps(value), acc[r]);
    }
  }
  for (int r = 0; r < Rows; ++r)
    store_outputs(out + static_cast<std::size_t>(r) * out_stride, acc[r], accumulate);
}

template <weight_kind Kind, int Rows>
inline void tile(const packed_matrix& w, const std::byte* panel, const activation_rows& x, std::size_t row,
                 float* out, std::size_t stride, bool accumulate) {
  if constexpr (Kind >= weight_kind::f16) {
    float_tile<Kind, Rows>(w, panel, x, row, out + row * stride, stride, accumulate);
  } else {
    quantized_tile<Kind, Rows>(w, panel, x, row, out + row * stride, stride, accumulate);
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
    for (; left >= 8; left -= 8, row += 8) tile<Kind, 8>(w, panel, x, row, to, stride, accumulate);
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
