#include "kernels/cuda/elementwise/residual_norm.hpp"

#include <cmath>

#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

using kernels::cuda::residual_norm_arguments;

template <class T>
class residual_norm : public test::cuda_kernels {
 protected:
  struct outcome {
    std::vector<float> residual;
    std::vector<float> output;
  };

  outcome run(const std::vector<float>& residual, const std::vector<float>& addition,
              const std::vector<float>& weight, int width) {
    const test::device_array<float> device_residual(residual);
    const test::device_array<T> device_addition(test::rounded<T>(addition));
    const test::device_array<float> device_weight(weight);
    const test::device_array<T> output(residual.size());
    kernels::cuda::residual_rms_norm({.residual = device_residual.data(),
                                      .addition = addition.empty() ? nullptr : device_addition.data(),
                                      .weight = device_weight.data(),
                                      .output = output.data(),
                                      .rows = static_cast<std::int32_t>(residual.size()) / width,
                                      .width = width,
                                      .epsilon = 1e-5F,
                                      .type = test::type_of<T>},
                                     nullptr);
    return {device_residual.read(), test::floats(output.read())};
  }
};

using element_types = testing::Types<__nv_bfloat16, __half>;
TYPED_TEST_SUITE(residual_norm, element_types);

TYPED_TEST(residual_norm, adds_and_norms_rows_of_any_width) {
  std::mt19937 random(7);
  for (const int width : {1, 7, 64, 100, 576, 2048, 4104, 8192}) {
    const int rows = width > 1000 ? 2 : 3;
    const auto count = static_cast<std::size_t>(rows * width);
    const auto residual = test::normal_floats(count, 2, random);
    const auto addition = test::floats(test::rounded<TypeParam>(test::normal_floats(count, 1, random)));
    const auto weight = test::normal_floats(static_cast<std::size_t>(width), 1, random);
    const auto result = this->run(residual, addition, weight, width);
    for (int row = 0; row < rows; row++) {
      double squares = 0;
      for (int i = row * width; i < (row + 1) * width; i++) {
        EXPECT_EQ(result.residual[i], residual[i] + addition[i]) << width;
        squares += static_cast<double>(result.residual[i]) * result.residual[i];
      }
      const double factor = 1 / std::sqrt(squares / width + 1e-5);
      for (int i = 0; i < width; i++) {
        const double expected = result.residual[row * width + i] * factor * weight[i];
        ASSERT_NEAR(result.output[row * width + i], expected,
                    std::abs(expected) * test::rounding_of<TypeParam> + 1e-6)
            << width << " " << row << " " << i;
      }
    }
  }
}

TYPED_TEST(residual_norm, leaves_the_residual_where_nothing_is_added) {
  std::mt19937 random(8);
  const auto residual = test::normal_floats(128, 1, random);
  const auto zero = std::vector<float>(128, 0.0F);
  const auto weight = test::normal_floats(64, 1, random);
  const auto without = this->run(residual, {}, weight, 64);
  EXPECT_EQ(without.residual, residual);
  EXPECT_EQ(without.output, this->run(residual, zero, weight, 64).output);
}

TYPED_TEST(residual_norm, gives_a_row_the_same_bits_in_any_company) {
  std::mt19937 random(9);
  const auto residual = test::normal_floats(5 * 576, 1, random);
  const auto addition = test::normal_floats(5 * 576, 1, random);
  const auto weight = test::normal_floats(576, 1, random);
  const auto together = this->run(residual, addition, weight, 576);
  const auto row = [](const std::vector<float>& all) {
    return std::vector(all.begin() + 3 * 576, all.begin() + 4 * 576);
  };
  EXPECT_EQ(this->run(row(residual), row(addition), weight, 576).output, row(together.output));
}

}  // namespace
}  // namespace troupe
