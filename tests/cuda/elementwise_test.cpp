#include <cmath>

#include "kernels/cuda/elementwise/copy_kv_blocks.hpp"
#include "kernels/cuda/elementwise/gather_embeddings.hpp"
#include "kernels/cuda/elementwise/rope_angles.hpp"
#include "kernels/cuda/elementwise/silu_multiply.hpp"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

using kernels::cuda::kv_element;
using kernels::cuda::paged_kv;

template <class T>
class elementwise : public test::cuda_kernels {};

using element_types = testing::Types<__nv_bfloat16, __half>;
TYPED_TEST_SUITE(elementwise, element_types);

TYPED_TEST(elementwise, silu_of_gates_times_ups) {
  std::mt19937 random(1);
  for (const int width : {1, 7, 8, 100, 1536, 2049}) {
    for (const int rows : {0, 1, 3}) {
      const auto gate_up = test::rounded<TypeParam>(test::normal_floats(2 * rows * width, 4, random));
      const test::device_array<TypeParam> input(gate_up);
      const test::device_array<TypeParam> output(static_cast<std::size_t>(rows * width));
      kernels::cuda::silu_multiply({.gate_up = input.data(),
                                    .output = output.data(),
                                    .rows = rows,
                                    .width = width,
                                    .type = test::type_of<TypeParam>},
                                   nullptr);
      const auto result = test::floats(output.read());
      for (int i = 0; i < rows * width; i++) {
        const auto place = static_cast<std::size_t>(i / width * 2 * width + i % width);
        const double gate = static_cast<float>(gate_up[place]);
        const double up = static_cast<float>(gate_up[place + width]);
        const double expected = gate / (1 + std::exp(-gate)) * up;
        ASSERT_NEAR(result[i], expected, std::abs(expected) * test::rounding_of<TypeParam> + 1e-6) << width;
      }
    }
  }
}

TYPED_TEST(elementwise, silu_of_large_gates_is_finite) {
  const std::vector<float> gates = {-60000, -100, 100, 60000, 0, -20, 20, 1};
  std::vector<float> both = gates;
  both.insert(both.end(), gates.size(), 1.0F);
  const test::device_array<TypeParam> input(test::rounded<TypeParam>(both));
  const test::device_array<TypeParam> output(gates.size());
  kernels::cuda::silu_multiply({.gate_up = input.data(),
                                .output = output.data(),
                                .rows = 1,
                                .width = 8,
                                .type = test::type_of<TypeParam>},
                               nullptr);
  const auto result = test::floats(output.read());
  EXPECT_EQ(result[0], 0.0F);
  EXPECT_EQ(result[3], static_cast<float>(TypeParam(60000.0F)));
  EXPECT_EQ(result[4], 0.0F);
}

TYPED_TEST(elementwise, embeddings_are_the_tables_rows) {
  std::mt19937 random(2);
  for (const int width : {1, 9, 64, 2056}) {
    const int vocabulary = 11;
    const auto values = test::rounded<TypeParam>(test::normal_floats(vocabulary * width, 1, random));
    const std::vector<std::int32_t> tokens = {10, 0, 3, 3, 7};
    const test::device_array<TypeParam> table(values);
    const test::device_array<std::int32_t> device_tokens(tokens);
    const test::device_array<float> residual(tokens.size() * width);
    kernels::cuda::gather_embeddings({.table = table.data(),
                                      .tokens = device_tokens.data(),
                                      .sources = nullptr,
                                      .sampled = nullptr,
                                      .residual = residual.data(),
                                      .rows = static_cast<std::int32_t>(tokens.size()),
                                      .width = width,
                                      .type = test::type_of<TypeParam>},
                                     nullptr);
    const auto result = residual.read();
    for (std::size_t i = 0; i < result.size(); i++) {
      ASSERT_EQ(result[i], static_cast<float>(values[tokens[i / width] * width + i % width])) << width;
    }
  }
}

TYPED_TEST(elementwise, embeddings_of_sampled_tokens_are_fed_forward) {
  const int width = 1544;  // more than a block copies
  std::mt19937 random(3);
  const auto values = test::rounded<TypeParam>(test::normal_floats(9 * width, 1, random));
  const test::device_array<TypeParam> table(values);
  const test::device_array<std::int32_t> tokens(std::vector<std::int32_t>{4, -7, -7, 5});
  const test::device_array<std::int32_t> sources(std::vector<std::int32_t>{-1, 2, 0, -1});
  const test::device_array<std::int32_t> sampled(std::vector<std::int32_t>{8, 1, 3});
  const test::device_array<float> residual(4 * width);
  kernels::cuda::gather_embeddings({.table = table.data(),
                                    .tokens = tokens.data(),
                                    .sources = sources.data(),
                                    .sampled = sampled.data(),
                                    .residual = residual.data(),
                                    .rows = 4,
                                    .width = width,
                                    .type = test::type_of<TypeParam>},
                                   nullptr);
  const std::vector<std::int32_t> expected = {4, 3, 8, 5};
  EXPECT_EQ(tokens.read(), expected);
  const auto result = residual.read();
  for (std::size_t i = 0; i < result.size(); i++) {
    ASSERT_EQ(result[i], static_cast<float>(values[expected[i / width] * width + i % width])) << i;
  }
}

class rope_angles : public test::cuda_kernels {};

TEST_F(rope_angles, are_cosine_and_sine_of_position_times_frequency) {
  std::vector<float> frequencies;
  for (int i = 0; i < 40; i++) frequencies.push_back(static_cast<float>(std::pow(10000.0, -i / 40.0)));
  const std::vector<std::int32_t> positions = {0, 1, 17, 4095, 131071, 1048575};
  const test::device_array<float> device_frequencies(frequencies);
  const test::device_array<std::int32_t> device_positions(positions);
  const test::device_array<float> angles(positions.size() * frequencies.size() * 2);
  kernels::cuda::rope_angles({.positions = device_positions.data(),
                              .inverse_frequencies = device_frequencies.data(),
                              .scale = 1.25F,
                              .angles = angles.data(),
                              .rows = static_cast<std::int32_t>(positions.size()),
                              .pairs = static_cast<std::int32_t>(frequencies.size())},
                             nullptr);
  const auto result = angles.read();
  for (std::size_t i = 0; i < result.size() / 2; i++) {
    const double angle = static_cast<double>(positions[i / 40]) * frequencies[i % 40];
    EXPECT_NEAR(result[2 * i], 1.25 * std::cos(angle), 2e-7) << i;
    EXPECT_NEAR(result[2 * i + 1], 1.25 * std::sin(angle), 2e-7) << i;
  }
}

class copy_kv_blocks : public test::cuda_kernels {};

TEST_F(copy_kv_blocks, copies_in_order_all_layers_and_scales_and_nothing_else) {
  for (const kv_element element : {kv_element::bf16, kv_element::fp8, kv_element::int8}) {
    paged_kv kv{.element = element,
                .num_layers = 3,
                .num_blocks = 6,
                .num_kv_heads = 2,
                .block_size = 8,
                .head_dim = 80};
    std::vector<unsigned char> bytes(kv.data_bytes());
    for (std::size_t i = 0; i < bytes.size(); i++) bytes[i] = static_cast<unsigned char>(i * 7 + i / 251);
    std::vector<float> scales(kv.scale_bytes() / sizeof(float));
    for (std::size_t i = 0; i < scales.size(); i++) scales[i] = static_cast<float>(i);
    const test::device_array<unsigned char> data(bytes);
    const test::device_array<float> device_scales(scales);
    kv.data = data.data();
    kv.scales = scales.empty() ? nullptr : device_scales.data();
    // Block 1 goes to 4 before 5 comes to 1; 4 goes on to 2.
    const std::vector<std::int32_t> copies = {1, 4, 5, 1, 4, 2};
    const test::device_array<std::int32_t> device_copies(copies);
    kernels::cuda::copy_kv_blocks({.kv = kv, .copies = device_copies.data(), .count = 3}, nullptr);
    const auto move = [&](auto& memory) {
      const std::size_t block = memory.size() / 18;
      for (std::size_t layer = 0; layer < 3; layer++) {
        for (std::size_t i = 0; i < copies.size(); i += 2) {
          const auto from = memory.begin() + static_cast<std::ptrdiff_t>((layer * 6 + copies[i]) * block);
          const auto to = memory.begin() + static_cast<std::ptrdiff_t>((layer * 6 + copies[i + 1]) * block);
          std::copy(from, from + static_cast<std::ptrdiff_t>(block), to);
        }
      }
    };
    move(bytes);
    move(scales);
    EXPECT_EQ(data.read(), bytes);
    EXPECT_EQ(device_scales.read(), scales);
  }
}

}  // namespace
}  // namespace troupe
