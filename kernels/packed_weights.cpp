#include "kernels/packed_weights.hpp"

#include <cstring>

namespace troupe::kernels {
namespace {

constexpr std::size_t cache_line = 64;

std::size_t code_bytes(weight_kind kind) {
  return kind == weight_kind::u4_min ? panel_outputs * group_inputs / 2 : panel_outputs * group_inputs;
}

std::size_t element_bytes(weight_kind kind) { return kind == weight_kind::f32 ? 4 : 2; }

}  // namespace

bool is_quantized(weight_kind kind) { return kind < weight_kind::f16; }

packed_matrix describe_packed(weight_kind kind, std::int32_t outputs, std::int32_t inputs) {
  packed_matrix matrix{kind, outputs, inputs, (outputs + panel_outputs - 1) / panel_outputs,
                       0,    0,       0,      nullptr};
  std::size_t bytes = 0;
  if (is_quantized(kind)) {
    const auto groups = static_cast<std::size_t>(inputs) / group_inputs;
    const std::size_t plane = groups * panel_outputs * sizeof(std::uint16_t);
    matrix.scale_offset = groups * code_bytes(kind);
    matrix.min_offset = matrix.scale_offset + plane;
    const bool two_planes = kind != weight_kind::s8;
    bytes = matrix.scale_offset + (two_planes ? 2 : 1) * plane;
  } else {
    bytes = static_cast<std::size_t>(inputs) * panel_outputs * element_bytes(kind);
  }
  matrix.panel_bytes = (bytes + cache_line - 1) / cache_line * cache_line;
  return matrix;
}

void pack_group(const packed_matrix& layout, std::byte* data, std::int32_t output, std::int32_t group,
                const weight_group& weights) {
  std::byte* panel = data + static_cast<std::size_t>(output / panel_outputs) * layout.panel_bytes;
  const auto lane = static_cast<std::size_t>(output % panel_outputs);
  const auto g = static_cast<std::size_t>(group);
  std::byte* codes = panel + g * code_bytes(layout.kind) + lane * 4;
  for (std::size_t k = 0; k < group_inputs; ++k) {
    const std::size_t quad = k / 4;
    if (layout.kind == weight_kind::u4_min) {
      std::byte& pair = codes[quad / 2 * 64 + k % 4];
      const auto nibble = static_cast<std::byte>(weights.codes[k]);
      pair = quad % 2 == 0 ? nibble : pair | (nibble << 4);
    } else {
      codes[quad * 64 + k % 4] = static_cast<std::byte>(weights.codes[k] + 128);
    }
  }
  const bool halves = layout.kind == weight_kind::s8_half;
  std::byte* scale = panel + layout.scale_offset + (g * (halves ? 2 : 1) * panel_outputs + lane) * 2;
  std::memcpy(scale, &weights.scales[0], 2);
  if (halves) {
    std::memcpy(scale + panel_outputs * 2, &weights.scales[1], 2);
  } else if (layout.kind != weight_kind::s8) {
    std::memcpy(panel + layout.min_offset + (g * panel_outputs + lane) * 2, &weights.minimum, 2);
  }
}

void pack_row(const packed_matrix& layout, std::byte* data, std::int32_t output, const std::byte* values) {
  const std::size_t size = element_bytes(layout.kind);
  std::byte* to = data + static_cast<std::size_t>(output / panel_outputs) * layout.panel_bytes +
                  static_cast<std::size_t>(output % panel_outputs) * size;
  for (std::size_t k = 0; k < static_cast<std::size_t>(layout.inputs); ++k) {
    std::memcpy(to + k * panel_outputs * size, values + k * size, size);
  }
}

}  // namespace troupe::kernels
