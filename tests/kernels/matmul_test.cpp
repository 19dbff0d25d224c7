#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>

#include "kernels/reference/reference_kernels.hpp"
#include "tests/kernels/kernels_fixture.hpp"

namespace troupe {
namespace {

using kernels::weight_kind;
using test::values;

constexpr weight_kind all_kinds[] = {weight_kind::u4_min,  weight_kind::s8,  weight_kind::s8_min,
                                     weight_kind::s8_half, weight_kind::f16, weight_kind::bf16,
                                     weight_kind::f32};
constexpr values all_values[] = {values::normal, values::zeros, values::huge, values::extreme_codes};

std::vector<float> product(const kernels::kernel_table& table, const kernels::packed_matrix& matrix,
                           const kernels::activation_rows& rows, std::int32_t count, float start,
                           bool accumulate) {
  const auto width = static_cast<std::size_t>(matrix.panels) * 16;
  std::vector<float> out(static_cast<std::size_t>(count) * width, start);
  table.matmul(matrix, 0, matrix.panels, rows, count, out.data(), width, accumulate);
  return out;
}

TEST(matmul, reference_is_the_dot_product_of_dequantised_weights_and_activations) {
  std::mt19937 random(1);
  for (const weight_kind kind : all_kinds) {
    const std::int32_t inputs = 128;
    const auto matrix = test::make_matrix(kind, 40, inputs, values::normal, random);
    const auto rows = test::make_rows(kernels::reference_kernels, 3, inputs, values::normal, random);
    const auto out = product(kernels::reference_kernels, matrix.packed, rows.view, 3, 0, false);
    for (std::size_t row = 0; row < 3; ++row) {
      for (std::size_t output = 0; output < 48; ++output) {
        double expected = 0;
        double size = 0;
        for (std::size_t k = 0; k < 128 && output < 40; ++k) {
          const auto& group = rows.groups[k / 32 * 8 + row];
          const double input = kernels::is_quantized(kind) ? double{group.scale} * group.codes[k % 32]
                                                           : double{rows.values[row * 128 + k]};
          expected += matrix.weights[output * 128 + k] * input;
          size += std::abs(matrix.weights[output * 128 + k] * input);
        }
        EXPECT_NEAR(out[row * 48 + output], expected, 1e-5 * size + 1e-12) << static_cast<int>(kind);
      }
    }
  }
}

TEST(matmul, every_path_gives_the_bits_of_the_reference) {
  std::mt19937 random(2);
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (const weight_kind kind : all_kinds) {
      for (const values kind_of_values : all_values) {
        const std::int32_t rows_count = 1 + static_cast<std::int32_t>(random() % 21);
        const std::int32_t outputs = 1 + static_cast<std::int32_t>(random() % 70);
        const bool any_width = !kernels::is_quantized(kind);
        const std::int32_t inputs = any_width ? 1 + static_cast<std::int32_t>(random() % 100)
                                              : 32 * (1 + static_cast<std::int32_t>(random() % 9));
        const auto matrix = test::make_matrix(kind, outputs, inputs, kind_of_values, random);
        const auto rows =
            test::make_rows(kernels::reference_kernels, rows_count, inputs, kind_of_values, random);
        for (const bool accumulate : {false, true}) {
          EXPECT_TRUE(test::same_bits(
              product(*table, matrix.packed, rows.view, rows_count, 0.5F, accumulate),
              product(kernels::reference_kernels, matrix.packed, rows.view, rows_count, 0.5F, accumulate)))
              << table->name << " kind " << static_cast<int>(kind) << " values "
              << static_cast<int>(kind_of_values) << " " << outputs << "x" << inputs << " rows "
              << rows_count;
        }
      }
    }
  }
}

TEST(matmul, a_rows_bits_do_not_depend_on_how_many_rows_stand_beside_it) {
  std::mt19937 random(3);
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (const weight_kind kind : all_kinds) {
      const auto matrix = test::make_matrix(kind, 33, 96, values::normal, random);
      const auto rows = test::make_rows(*table, 35, 96, values::normal, random);
      const auto whole = product(*table, matrix.packed, rows.view, 35, 0, false);
      for (std::int32_t count = 1; count < 35; ++count) {
        const auto part = product(*table, matrix.packed, rows.view, count, 0, false);
        ASSERT_EQ(std::memcmp(part.data(), whole.data(), part.size() * sizeof(float)), 0)
            << table->name << " kind " << static_cast<int>(kind) << " rows " << count;
      }
    }
  }
}

TEST(matmul, a_range_of_panels_writes_its_own_columns_only) {
  std::mt19937 random(4);
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    const auto matrix = test::make_matrix(weight_kind::u4_min, 80, 64, values::normal, random);
    const auto rows = test::make_rows(*table, 9, 64, values::normal, random);
    const auto whole = product(*table, matrix.packed, rows.view, 9, 0, false);
    std::vector<float> out(9 * 80, -7.0F);
    table->matmul(matrix.packed, 1, 3, rows.view, 9, out.data(), 80, false);
    for (std::size_t i = 0; i < out.size(); ++i) {
      const bool inside = i % 80 >= 16 && i % 80 < 48;
      EXPECT_EQ(out[i], inside ? whole[i] : -7.0F);
    }
  }
}

TEST(matmul, quantised_activations_have_the_same_bits_on_every_path) {
  std::mt19937 random(5);
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (const float magnitude : {0.0F, 1e-35F, 1e-20F, 1.0F, 1e30F}) {
      auto input = test::random_floats(320, magnitude, random);
      input[40] = std::nanf("");
      input[200] = magnitude == 1e30F ? INFINITY : input[200];
      std::vector<kernels::quantized_group> mine(80);
      std::vector<kernels::quantized_group> reference(80);
      table->quantize_row(input.data(), 320, mine.data());
      kernels::reference_kernels.quantize_row(input.data(), 320, reference.data());
      for (std::size_t g = 0; g < 80; g += 8) {
        EXPECT_EQ(std::memcmp(mine[g].codes, reference[g].codes, 32), 0) << table->name << " " << magnitude;
        EXPECT_EQ(std::bit_cast<std::uint32_t>(mine[g].scale),
                  std::bit_cast<std::uint32_t>(reference[g].scale));
        EXPECT_EQ(mine[g].offset, reference[g].offset);
        EXPECT_EQ(mine[g].half_offsets[0], reference[g].half_offsets[0]);
        EXPECT_EQ(mine[g].half_offsets[1], reference[g].half_offsets[1]);
        EXPECT_TRUE(mine[g].sum == reference[g].sum ||
                    (std::isnan(mine[g].sum) && std::isnan(reference[g].sum)));
        EXPECT_EQ(mine[g].offset, mine[g].half_offsets[0] + mine[g].half_offsets[1]);
      }
    }
  }
}

TEST(matmul, activation_codes_stay_within_half_a_step_of_their_values) {
  std::mt19937 random(6);
  const auto input = test::random_floats(3200, 2.0F, random);
  std::vector<kernels::quantized_group> groups(800);
  kernels::reference_kernels.quantize_row(input.data(), 3200, groups.data());
  for (std::size_t i = 0; i < input.size(); ++i) {
    const auto& group = groups[i / 32 * 8];
    EXPECT_NEAR(group.codes[i % 32] * group.scale, input[i], 0.5001F * group.scale);
  }
}

}  // namespace
}  // namespace troupe
