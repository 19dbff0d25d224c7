#include "kernels/cuda/products/fp8_rows.hpp"

#include <cuda_fp8.h>

#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

using test::device_array;
using e4m3 = __nv_fp8_e4m3;

class fp8_rows : public test::cuda_kernels {
 protected:
  struct quantized {
    std::vector<e4m3> codes;
    std::vector<float> scales;
  };
  static quantized quantize(const std::vector<float>& values, std::int32_t width) {
    const auto rows = static_cast<std::int32_t>(values.size()) / width;
    const device_array<__nv_bfloat16> input(test::rounded<__nv_bfloat16>(values));
    const device_array<e4m3> codes(values.size());
    const device_array<float> scales(static_cast<std::size_t>(rows));
    kernels::cuda::quantize_to_fp8({.input = input.data(),
                                    .output = codes.data(),
                                    .scales = scales.data(),
                                    .rows = rows,
                                    .width = width,
                                    .type = kernels::cuda::element_type::bf16},
                                   nullptr);
    return {codes.read(), scales.read()};
  }
};

TEST_F(fp8_rows, have_the_least_power_of_two_by_which_they_fit) {
  std::vector<float> values(4 * 16, 0.0F);
  values[3] = -448.0F;
  values[16 + 5] = 450.0F;
  values[32 + 7] = 0.875F;
  const quantized found = quantize(values, 16);
  EXPECT_EQ(found.scales[0], 1.0F);
  EXPECT_EQ(found.scales[1], 2.0F) << "above 448";
  EXPECT_EQ(found.scales[2], 0x1p-9F);
  EXPECT_GT(found.scales[3], 0.0F) << "a row of nothing";
  EXPECT_EQ(static_cast<float>(found.codes[3]), -448.0F);
  EXPECT_EQ(static_cast<float>(found.codes[16 + 5]), 224.0F);
  EXPECT_EQ(static_cast<float>(found.codes[32 + 7]), 448.0F);
  EXPECT_EQ(static_cast<float>(found.codes[48]), 0.0F);
}

// Wider than a block reads at once.
TEST_F(fp8_rows, have_the_same_bits_alone_and_among_others) {
  constexpr std::int32_t width = 4112;
  std::mt19937 random(3);
  std::vector<float> values = test::normal_floats(std::size_t{3} * width, 1, random);
  values.back() = 100.0F;
  const quantized all = quantize(values, width);
  EXPECT_EQ(all.scales[2], 0.25F) << "of the last element";
  const quantized alone = quantize({values.begin() + width, values.begin() + 2 * width}, width);
  EXPECT_EQ(alone.scales[0], all.scales[1]);
  EXPECT_EQ(test::floats(alone.codes),
            test::floats(std::vector<e4m3>(all.codes.begin() + width, all.codes.begin() + 2 * width)));
}

TEST_F(fp8_rows, sums_are_scaled_exactly_in_place_or_where_they_are_added) {
  constexpr std::int32_t width = 2056;
  constexpr std::int32_t rows = 3;
  std::mt19937 random(4);
  const std::vector<float> sums = test::normal_floats(std::size_t{rows} * width, 100, random);
  const std::vector<float> row_scales{0.5F, 4.0F, 0x1p-20F};
  std::vector<float> output_scales;
  for (std::int32_t i = 0; i < width; ++i) output_scales.push_back(std::ldexp(1.0F, i % 9 - 4));
  const device_array<float> by_row(row_scales), by_output(output_scales);
  const device_array<float> in_place(sums), added(std::vector<float>(sums.size(), 3.0F)), kept(sums);
  const device_array<__nv_bfloat16> narrow(test::rounded<__nv_bfloat16>(sums));
  const auto scale = [&](void* values, float* output, kernels::cuda::fp8_sums kind) {
    kernels::cuda::scale_fp8_sums({.sums = values,
                                   .row_scales = by_row.data(),
                                   .output_scales = by_output.data(),
                                   .output = output,
                                   .rows = rows,
                                   .width = width,
                                   .kind = kind},
                                  nullptr);
  };
  scale(in_place.data(), nullptr, kernels::cuda::fp8_sums::f32);
  scale(kept.data(), added.data(), kernels::cuda::fp8_sums::add_to_f32);
  scale(narrow.data(), nullptr, kernels::cuda::fp8_sums::bf16);
  const auto as_f32 = in_place.read(), sum = added.read(), as_bf16 = test::floats(narrow.read());
  const auto unscaled = test::floats(test::rounded<__nv_bfloat16>(sums));
  for (std::size_t i = 0; i < sums.size(); ++i) {
    const float by = row_scales[i / width] * output_scales[i % width];
    ASSERT_EQ(as_f32[i], sums[i] * by) << i;
    ASSERT_EQ(sum[i], 3.0F + sums[i] * by) << i;
    ASSERT_EQ(as_bf16[i], unscaled[i] * by) << i;
  }
  EXPECT_EQ(kept.read(), sums);
}

}  // namespace
}  // namespace troupe
