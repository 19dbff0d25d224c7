#include "kernels/cuda/products/quantized_product.hpp"

#include <cmath>

#include "runtime/executor_cuda/kernel_checks/quantized_weights.hpp"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

using checks::quantized_weights;
using kernels::weight_kind;
using kernels::cuda::product_output;

constexpr std::array kinds{weight_kind::u4_min, weight_kind::s8, weight_kind::s8_min, weight_kind::s8_half};

class quantized_product : public test::cuda_kernels {
 protected:
  using bf16 = __nv_bfloat16;

  static std::vector<float> multiply(const quantized_weights& weights, const std::vector<float>& input,
                                     std::int32_t rows) {
    const std::int32_t outputs = weights.layout().outputs;
    const test::device_array<bf16> device_input(test::rounded<bf16>(input));
    const test::device_array<float> output(static_cast<std::size_t>(rows * (outputs + 3)));
    kernels::cuda::multiply_quantized({.weights = weights.layout(),
                                       .input = device_input.data(),
                                       .input_stride = static_cast<std::int64_t>(input.size()) / rows,
                                       .rows = rows,
                                       .kind = product_output::f32,
                                       .output = output.data(),
                                       .output_stride = outputs + 3},
                                      nullptr);
    return output.read();
  }

  static std::vector<float> random_input(std::int32_t rows, std::int32_t stride, std::mt19937& random) {
    const auto values = test::normal_floats(static_cast<std::size_t>(rows * stride), 1, random);
    return test::floats(test::rounded<bf16>(values));
  }

  static void expect_products(const quantized_weights& weights, std::int32_t rows, std::mt19937& random) {
    const auto [kind, outputs, inputs, tiles, units, data] = weights.layout();
    const std::int32_t stride = inputs + 4;
    const auto input = random_input(rows, stride, random);
    const auto result = multiply(weights, input, rows);
    for (std::int32_t row = 0; row < rows; ++row) {
      for (std::int32_t o = 0; o < outputs; ++o) {
        double sum = 0;
        double magnitude = 0;
        for (std::int32_t i = 0; i < inputs; ++i) {
          const double term = weights.at(o, i) * input[static_cast<std::size_t>(row * stride + i)];
          sum += term;
          magnitude += std::abs(term);
        }
        // Codes and minima cancel: both are summed by themselves.
        ASSERT_NEAR(result[static_cast<std::size_t>(row * (outputs + 3) + o)], sum, 1e-5 * magnitude + 1e-6)
            << "kind " << static_cast<int>(kind) << ", " << outputs << " x " << inputs << ", " << rows
            << " rows, at " << row << " " << o;
      }
    }
  }
};

TEST_F(quantized_product, is_that_of_the_weights_for_any_number_of_rows) {
  std::mt19937 random(41);
  for (const weight_kind kind : kinds) {
    const quantized_weights weights(kind, 40, 576, random);
    for (const std::int32_t rows : {1, 3, 4, 5, 8, 9, 16}) expect_products(weights, rows, random);
  }
}

TEST_F(quantized_product, is_that_of_the_weights_of_any_size) {
  std::mt19937 random(42);
  for (const weight_kind kind : kinds) {
    for (const auto& [outputs, inputs] : std::vector<std::pair<std::int32_t, std::int32_t>>{
             {1, 32}, {17, 96}, {16, 64}, {33, 1120}, {70, 2080}}) {
      expect_products({kind, outputs, inputs, random}, 2, random);
    }
  }
}

TEST_F(quantized_product, gives_a_row_the_same_bits_in_any_company) {
  std::mt19937 random(43);
  for (const weight_kind kind : kinds) {
    const quantized_weights weights(kind, 24, 640, random);
    const auto input = random_input(16, 640, random);
    const auto all = multiply(weights, input, 16);
    for (const std::int32_t rows : {1, 6, 8, 11}) {
      const auto some = multiply(weights, {input.begin(), input.begin() + rows * 640}, rows);
      for (std::int32_t row = 0; row < rows; ++row) {
        const auto begin = row * 27;
        EXPECT_TRUE(std::equal(some.begin() + begin, some.begin() + begin + 24, all.begin() + begin)) << rows;
      }
    }
  }
}

TEST_F(quantized_product, is_written_rounded_or_added) {
  std::mt19937 random(44);
  const quantized_weights weights(weight_kind::u4_min, 20, 128, random);
  const auto input = random_input(3, 128, random);
  const auto expected = multiply(weights, input, 3);
  const test::device_array<bf16> device_input(test::rounded<bf16>(input));
  const test::device_array<bf16> rounded(60);
  const test::device_array<float> sums(std::vector<float>(60, 2.5F));
  kernels::cuda::quantized_product product{.weights = weights.layout(),
                                           .input = device_input.data(),
                                           .input_stride = 128,
                                           .rows = 3,
                                           .kind = product_output::bf16,
                                           .output = rounded.data(),
                                           .output_stride = 20};
  kernels::cuda::multiply_quantized(product, nullptr);
  product.kind = product_output::add_to_f32;
  product.output = sums.data();
  kernels::cuda::multiply_quantized(product, nullptr);
  const auto as_bf16 = test::floats(rounded.read());
  const auto added = sums.read();
  for (std::size_t i = 0; i < 60; ++i) {
    const float value = expected[i / 20 * 23 + i % 20];
    EXPECT_EQ(as_bf16[i], static_cast<float>(bf16(value)));
    EXPECT_EQ(added[i], 2.5F + value);
  }
}

TEST_F(quantized_product, weights_are_dequantised_with_one_rounding) {
  std::mt19937 random(45);
  for (const weight_kind kind : kinds) {
    for (const auto& [outputs, inputs] :
         std::vector<std::pair<std::int32_t, std::int32_t>>{{1, 32}, {40, 576}, {18, 1056}}) {
      const quantized_weights weights(kind, outputs, inputs, random);
      const test::device_array<bf16> out(static_cast<std::size_t>(outputs * inputs));
      kernels::cuda::dequantize(weights.layout(), out.data(), nullptr);
      const auto values = test::floats(out.read());
      for (std::int32_t i = 0; i < outputs * inputs; ++i) {
        const auto exact = static_cast<float>(weights.at(i / inputs, i % inputs));
        ASSERT_EQ(values[static_cast<std::size_t>(i)], static_cast<float>(bf16(exact)))
            << "kind " << static_cast<int>(kind) << ", " << outputs << " x " << inputs << ", at " << i;
      }
    }
  }
}

}  // namespace
}  // namespace troupe
