#include "kernels/tiled_weights.hpp"

#include <cstring>

namespace troupe::kernels {
namespace {

// Where one code of a group lies: which input of the lane's eight it is.
struct code_place {
  std::size_t thread;  // t
  std::size_t half;
  std::size_t index;  // within the half's four
};

code_place place_of(std::size_t input) { return {input % 16 / 4, input / 16, input % 4}; }

// `row`: 0 for the output g, 1 for g + 8.
void put_nibble(std::byte* codes, std::size_t g, std::size_t row, std::size_t group, std::size_t input,
                std::int16_t code) {
  const code_place place = place_of(input);
  const std::size_t nibble = 2 * place.half + place.index / 2 + 4 * (place.index % 2);
  std::byte& byte = codes[(g * 4 + place.thread) * 16 + (group * 2 + row) * 4 + nibble / 2];
  byte |= static_cast<std::byte>(code) << (4 * (nibble % 2));
}

void put_byte(std::byte* codes, std::size_t g, std::size_t row, std::size_t group, std::size_t input,
              std::int16_t code) {
  const code_place place = place_of(input);
  codes[group * 512 + (g * 4 + place.thread) * 16 + (row * 2 + place.half) * 4 + place.index] =
      static_cast<std::byte>(code + 128);
}

}  // namespace

tiled_matrix describe_tiled(weight_kind kind, std::int32_t outputs, std::int32_t inputs) {
  return {kind,
          outputs,
          inputs,
          (outputs + tile_outputs - 1) / tile_outputs,
          (inputs + unit_inputs - 1) / unit_inputs,
          nullptr};
}

std::size_t tiled_bytes(const tiled_matrix& layout) {
  return static_cast<std::size_t>(layout.tiles) * static_cast<std::size_t>(layout.units) *
         unit_bytes(layout.kind);
}

void pack_tiled_group(const tiled_matrix& layout, std::byte* data, std::int32_t output, std::int32_t group,
                      const weight_group& weights) {
  const auto tile = static_cast<std::size_t>(output / tile_outputs);
  const auto unit = static_cast<std::size_t>(group / 2);
  std::byte* const codes =
      data + (tile * static_cast<std::size_t>(layout.units) + unit) * unit_bytes(layout.kind);
  const auto g = static_cast<std::size_t>(output % 8);
  const auto row = static_cast<std::size_t>(output % tile_outputs / 8);
  const auto in_unit = static_cast<std::size_t>(group % 2);
  for (std::size_t k = 0; k < group_inputs; ++k) {
    if (layout.kind == weight_kind::u4_min) {
      put_nibble(codes, g, row, in_unit, k, weights.codes[k]);
    } else {
      put_byte(codes, g, row, in_unit, k, weights.codes[k]);
    }
  }

  std::byte* const scales = codes + unit_code_bytes(layout.kind);
  const std::size_t place = (g * 2 + in_unit) * 2 + row;
  if (layout.kind == weight_kind::s8) {
    std::memcpy(scales + place * 2, &weights.scales[0], 2);
    return;
  }
  const std::uint16_t second = layout.kind == weight_kind::s8_half ? weights.scales[1] : weights.minimum;
  std::memcpy(scales + place * 4, &weights.scales[0], 2);
  std::memcpy(scales + place * 4 + 2, &second, 2);
}

}  // namespace troupe::kernels
