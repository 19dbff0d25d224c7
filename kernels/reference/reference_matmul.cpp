#include "kernels/reference/reference_matmul.hpp"

#include <cmath>
#include <cstring>

#include "kernels/half.hpp"

namespace troupe::kernels::reference {
namespace {

float half_at(const std::byte* plane, std::size_t index) {
  std::uint16_t bits = 0;
  std::memcpy(&bits, plane + index * 2, 2);
  return f16_to_f32(bits);
}

std::int32_t code_at(weight_kind kind, const std::byte* panel, std::size_t group, std::size_t lane,
                     std::size_t k) {
  const std::size_t quad = k / 4;
  if (kind == weight_kind::u4_min) {
    const auto pair = static_cast<std::int32_t>(panel[group * 256 + quad / 2 * 64 + lane * 4 + k % 4]);
    return quad % 2 == 0 ? pair & 15 : pair >> 4;
  }
  return static_cast<std::int32_t>(panel[group * 512 + quad * 64 + lane * 4 + k % 4]) - 128;
}

std::int32_t dot(const packed_matrix& w, const std::byte* panel, std::size_t group, std::size_t lane,
                 const std::int8_t* codes, std::size_t from, std::size_t to) {
  std::int32_t sum = 0;
  for (std::size_t k = from; k < to; ++k) sum += code_at(w.kind, panel, group, lane, k) * codes[k];
  return sum;
}

float quantized_output(const packed_matrix& w, const std::byte* panel, std::size_t lane,
                       const activation_rows& x, std::size_t row) {
  const auto groups = static_cast<std::size_t>(w.inputs) / group_inputs;
  const std::byte* scales = panel + w.scale_offset;
  float acc = 0;
  for (std::size_t g = 0; g < groups; ++g) {
    const quantized_group& input =
        x.groups[(row / row_block * x.groups_per_row + g) * row_block + row % row_block];
    if (w.kind == weight_kind::s8_half) {
      for (std::size_t h = 0; h < 2; ++h) {
        const auto sum = static_cast<float>(dot(w, panel, g, lane, input.codes, h * 16, h * 16 + 16));
        acc = std::fma(sum, half_at(scales, (2 * g + h) * 16 + lane) * input.scale, acc);
      }
      continue;
    }
    const auto sum = static_cast<float>(dot(w, panel, g, lane, input.codes, 0, 32));
    acc = std::fma(sum, half_at(scales, g * 16 + lane) * input.scale, acc);
    if (w.kind != weight_kind::s8)
      acc = std::fma(half_at(panel + w.min_offset, g * 16 + lane), input.sum, acc);
  }
  return acc;
}

float float_output(const packed_matrix& w, const std::byte* panel, std::size_t lane, const float* values) {
  float acc = 0;
  for (std::size_t k = 0; k < static_cast<std::size_t>(w.inputs); ++k) {
    const std::size_t index = k * 16 + lane;
    float weight = 0;
    if (w.kind == weight_kind::f32) {
      std::memcpy(&weight, panel + index * 4, 4);
    } else {
      std::uint16_t bits = 0;
      std::memcpy(&bits, panel + index * 2, 2);
      weight = w.kind == weight_kind::f16 ? f16_to_f32(bits) : bf16_to_f32(bits);
    }
    acc = std::fma(weight, values[k], acc);
  }
  return acc;
}

}  // namespace

void matmul(const packed_matrix& weights, std::int32_t first, std::int32_t last, const activation_rows& input,
            std::int32_t rows, float* out, std::size_t out_stride, bool accumulate) {
  for (std::int32_t p = first; p < last; ++p) {
    const std::byte* panel = weights.data + static_cast<std::size_t>(p) * weights.panel_bytes;
    for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
      for (std::size_t lane = 0; lane < 16; ++lane) {
        float& to = out[row * out_stride + static_cast<std::size_t>(p) * 16 + lane];
        const float value = is_quantized(weights.kind)
                                ? quantized_output(weights, panel, lane, input, row)
                                : float_output(weights, panel, lane, input.values + row * input.value_stride);
        to = accumulate ? to + value : value;
      }
    }
  }
}

}  // namespace troupe::kernels::reference
