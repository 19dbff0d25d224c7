#include <gtest/gtest.h>

#include <cmath>

#include "kernels/half.hpp"
#include "kernels/reference/exponential.hpp"
#include "kernels/reference/reference_kernels.hpp"
#include "tests/kernels/kernels_fixture.hpp"

namespace troupe {
namespace {

TEST(rows, exponential_is_within_two_parts_in_ten_million_of_exp) {
  for (double x = -86.9; x < 88; x += 0.0137) {
    const auto argument = static_cast<float>(x);
    const double expected = std::exp(static_cast<double>(argument));
    EXPECT_NEAR(kernels::reference::exponential(argument) / expected, 1.0, 2e-7) << x;
  }
  EXPECT_EQ(kernels::reference::exponential(0.0F), 1.0F);
  EXPECT_TRUE(std::isfinite(kernels::reference::exponential(1e30F)));
  EXPECT_TRUE(std::isfinite(kernels::reference::exponential(-INFINITY)));
}

TEST(rows, norm_has_the_references_bits_for_any_width) {
  std::mt19937 random(1);
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (const std::int32_t count : {1, 7, 15, 16, 17, 31, 64, 100, 576}) {
      const auto input = test::random_floats(static_cast<std::size_t>(count), 3.0F, random);
      const auto weight = test::random_floats(static_cast<std::size_t>(count), 1.0F, random);
      std::vector<float> mine(static_cast<std::size_t>(count));
      std::vector<float> reference(static_cast<std::size_t>(count));
      table->rms_norm(input.data(), weight.data(), count, 1e-5F, mine.data());
      kernels::reference_kernels.rms_norm(input.data(), weight.data(), count, 1e-5F, reference.data());
      EXPECT_TRUE(test::same_bits(mine, reference)) << table->name << " " << count;
      double squares = 0;
      for (const float x : input) squares += static_cast<double>(x) * x;
      const double factor = 1 / std::sqrt(squares / count + 1e-5);
      EXPECT_NEAR(reference[0], input[0] * factor * weight[0], 1e-5);
    }
  }
}

TEST(rows, gated_activation_has_the_references_bits_for_any_width) {
  std::mt19937 random(2);
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (const std::int32_t count : {1, 15, 16, 33, 96}) {
      auto gate = test::random_floats(static_cast<std::size_t>(count), 20.0F, random);
      gate[0] = -200.0F;
      const auto up = test::random_floats(static_cast<std::size_t>(count), 3.0F, random);
      std::vector<float> mine(static_cast<std::size_t>(count));
      std::vector<float> reference(static_cast<std::size_t>(count));
      table->silu_multiply(gate.data(), up.data(), count, mine.data());
      kernels::reference_kernels.silu_multiply(gate.data(), up.data(), count, reference.data());
      EXPECT_TRUE(test::same_bits(mine, reference)) << table->name << " " << count;
      const auto last = static_cast<std::size_t>(count) - 1;
      const double expected = gate[last] / (1 + std::exp(-static_cast<double>(gate[last]))) * up[last];
      EXPECT_NEAR(reference[last], expected, 1e-5 * (1 + std::abs(expected)));
    }
  }
}

TEST(rows, rotation_has_the_references_bits_and_keeps_lengths) {
  std::mt19937 random(3);
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (const auto layout : {kernels::rotation::interleaved, kernels::rotation::halves}) {
      for (const std::int32_t pairs : {1, 8, 13, 32}) {
        const auto head = test::random_floats(64, 1.0F, random);
        std::vector<float> cosines;
        std::vector<float> sines;
        for (std::int32_t i = 0; i < pairs; ++i) {
          cosines.push_back(std::cos(static_cast<float>(i) + 0.3F));
          sines.push_back(std::sin(static_cast<float>(i) + 0.3F));
        }
        auto mine = head;
        auto reference = head;
        table->rotate(mine.data(), cosines.data(), sines.data(), pairs, layout);
        kernels::reference_kernels.rotate(reference.data(), cosines.data(), sines.data(), pairs, layout);
        EXPECT_TRUE(test::same_bits(mine, reference)) << table->name << " " << pairs;
        const std::size_t partner = layout == kernels::rotation::halves ? static_cast<std::size_t>(pairs) : 1;
        EXPECT_NEAR(std::hypot(reference[0], reference[partner]), std::hypot(head[0], head[partner]), 1e-5);
        for (std::size_t i = 2 * static_cast<std::size_t>(pairs); i < 64; ++i)
          EXPECT_EQ(reference[i], head[i]);
      }
    }
  }
}

TEST(rows, arg_max_is_the_first_of_the_largest_and_never_nan) {
  std::mt19937 random(4);
  for (const kernels::kernel_table* table : kernels::available_kernels()) {
    for (int round = 0; round < 200; ++round) {
      std::vector<float> row(1 + random() % 300);
      for (float& value : row) value = static_cast<float>(random() % 7);
      if (round % 3 == 0) row[random() % row.size()] = std::nanf("");
      std::int32_t expected = 0;
      float largest = -INFINITY;
      for (std::size_t i = 0; i < row.size(); ++i) {
        if (row[i] > largest) {
          largest = row[i];
          expected = static_cast<std::int32_t>(i);
        }
      }
      EXPECT_EQ(table->arg_max(row.data(), static_cast<std::int32_t>(row.size())), expected) << table->name;
    }
  }
}

TEST(rows, half_precision_conversions_agree_with_the_definition) {
  for (std::uint32_t bits = 0; bits < 0x7C00; ++bits) {
    const auto half = static_cast<std::uint16_t>(bits);
    const float value = kernels::f16_to_f32(half);
    ASSERT_EQ(kernels::f32_to_f16(value), half);
    ASSERT_EQ(kernels::f32_to_f16(-value), half | 0x8000);
    const double mantissa = bits < 1024 ? bits : 1024 + bits % 1024;
    ASSERT_EQ(static_cast<double>(value),
              std::ldexp(mantissa, bits < 1024 ? -24 : static_cast<int>(bits / 1024) - 25));
    const float next = kernels::f16_to_f32(static_cast<std::uint16_t>(bits + 1));
    if (bits + 1 < 0x7C00) {
      ASSERT_EQ(kernels::f32_to_f16(value + (next - value) * 0.25F), half);
      ASSERT_EQ(kernels::f32_to_f16(value + (next - value) * 0.5F), bits % 2 == 0 ? bits : bits + 1);
    }
  }
  EXPECT_EQ(kernels::f32_to_f16(1e9F), 0x7C00);
  EXPECT_TRUE(std::isnan(kernels::f16_to_f32(kernels::f32_to_f16(std::nanf("")))));
}

}  // namespace
}  // namespace troupe
