#include "tests/kernels/kernels_fixture.hpp"

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/half.hpp"

namespace troupe::test {

using kernels::weight_kind;

std::vector<float> random_floats(std::size_t count, float magnitude, std::mt19937& random) {
  std::normal_distribution<float> normal(0.0F, magnitude);
  std::vector<float> all(count);
  for (float& value : all) value = normal(random);
  return all;
}

namespace {

float pick_scale(values kind, std::mt19937& random) {
  if (kind == values::zeros) return 0.0F;
  return std::uniform_real_distribution<float>(0.001F, 0.02F)(random) * (kind == values::huge ? 1e6F : 1.0F);
}

int pick_code(bool nibble, values kind, std::mt19937& random) {
  if (kind == values::extreme_codes) return nibble ? 15 : (random() % 2 == 0 ? -128 : 127);
  return nibble ? static_cast<int>(random() % 16) : static_cast<int>(random() % 256) - 128;
}

void fill_group(random_matrix& matrix, std::byte* data, std::int32_t output, std::int32_t group, values kind,
                std::mt19937& random) {
  kernels::weight_group weights{};
  const weight_kind packed = matrix.packed.kind;
  const bool has_min = packed == weight_kind::u4_min || packed == weight_kind::s8_min;
  for (int half = 0; half < 2; ++half) weights.scales[half] = kernels::f32_to_f16(pick_scale(kind, random));
  if (has_min) weights.minimum = kernels::f32_to_f16(-7.5F * pick_scale(kind, random));
  float* row = matrix.weights.data() + static_cast<std::size_t>(output) * matrix.packed.inputs + group * 32;
  for (int k = 0; k < 32; ++k) {
    weights.codes[k] = static_cast<std::int16_t>(pick_code(packed == weight_kind::u4_min, kind, random));
    const float scale = kernels::f16_to_f32(weights.scales[packed == weight_kind::s8_half ? k / 16 : 0]);
    row[k] = scale * static_cast<float>(weights.codes[k]) +
             (has_min ? kernels::f16_to_f32(weights.minimum) : 0.0F);
  }
  kernels::pack_group(matrix.packed, data, output, group, weights);
}

void fill_row(random_matrix& matrix, std::byte* data, std::int32_t output, values kind,
              std::mt19937& random) {
  float* row = matrix.weights.data() + static_cast<std::size_t>(output) * matrix.packed.inputs;
  std::vector<std::byte> bytes;
  for (std::int32_t k = 0; k < matrix.packed.inputs; ++k) {
    const float value = std::normal_distribution<float>(0, 1)(random) * pick_scale(kind, random);
    std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
    std::size_t size = 4;
    if (matrix.packed.kind == weight_kind::bf16) {
      bits >>= 16;
      row[k] = kernels::bf16_to_f32(static_cast<std::uint16_t>(bits));
      size = 2;
    } else if (matrix.packed.kind == weight_kind::f16) {
      bits = kernels::f32_to_f16(value);
      row[k] = kernels::f16_to_f32(static_cast<std::uint16_t>(bits));
      size = 2;
    } else {
      row[k] = value;
    }
    const auto* from = reinterpret_cast<const std::byte*>(&bits);
    bytes.insert(bytes.end(), from, from + size);
  }
  kernels::pack_row(matrix.packed, data, output, bytes.data());
}

}  // namespace

random_matrix make_matrix(weight_kind kind, std::int32_t outputs, std::int32_t inputs, values kind_of_values,
                          std::mt19937& random) {
  random_matrix matrix;
  matrix.packed = kernels::describe_packed(kind, outputs, inputs);
  matrix.memory.resize(static_cast<std::size_t>(matrix.packed.panels) * matrix.packed.panel_bytes / 64);
  matrix.weights.resize(static_cast<std::size_t>(outputs) * static_cast<std::size_t>(inputs));
  std::byte* data = matrix.memory.data()->bytes;
  matrix.packed.data = data;
  for (std::int32_t output = 0; output < outputs; ++output) {
    if (!kernels::is_quantized(kind)) {
      fill_row(matrix, data, output, kind_of_values, random);
      continue;
    }
    for (std::int32_t group = 0; group < inputs / 32; ++group) {
      fill_group(matrix, data, output, group, kind_of_values, random);
    }
  }
  return matrix;
}

random_rows make_rows(const kernels::kernel_table& table, std::int32_t rows, std::int32_t inputs,
                      values kind_of_values, std::mt19937& random) {
  random_rows made;
  const auto width = static_cast<std::size_t>(inputs);
  const float magnitude = kind_of_values == values::zeros  ? 0.0F
                          : kind_of_values == values::huge ? 1e15F
                                                           : 1.0F;
  made.values = random_floats(static_cast<std::size_t>(rows) * width, magnitude, random);
  if (kind_of_values == values::extreme_codes) {
    for (float& value : made.values) value = value < 0 ? -3.0F : 3.0F;
  }
  const std::size_t groups = (width + 31) / 32;
  made.groups.resize((static_cast<std::size_t>(rows) + 7) / 8 * 8 * groups);
  made.view = {made.values.data(), width, made.groups.data(), groups};
  if (inputs % 32 != 0) return made;
  for (std::size_t row = 0; row < static_cast<std::size_t>(rows); ++row) {
    table.quantize_row(made.values.data() + row * width, inputs,
                       made.groups.data() + row / 8 * groups * 8 + row % 8);
  }
  return made;
}

}  // namespace troupe::test
