#include "kernels/cuda/products/few_row_product.hpp"

#include <cmath>

#include "kernels/cuda/elementwise/residual_norm.hpp"
#include "kernels/cuda/elementwise/silu_multiply.hpp"
#include "tests/cuda/cuda_fixture.hpp"

namespace troupe {
namespace {

using kernels::cuda::few_row_output;
using kernels::cuda::few_row_variant;

constexpr few_row_variant of_tiles[] = {few_row_variant::tiles, few_row_variant::other_tiles,
                                        few_row_variant::third_tiles};
using test::device_array;

template <class T>
struct few_row_case {
  std::int32_t rows, outputs, inputs;
  std::vector<float> weights, input;

  few_row_case(std::int32_t of_rows, std::int32_t of_outputs, std::int32_t of_inputs, std::mt19937& random)
      : rows(of_rows),
        outputs(of_outputs),
        inputs(of_inputs),
        weights(some(outputs, 0.1F, random)),
        input(some(rows, 1, random)) {}
  std::vector<float> some(std::int32_t count, float deviation, std::mt19937& random) const {
    return test::floats(test::rounded<T>(test::normal_floats(
        static_cast<std::size_t>(count) * static_cast<std::size_t>(inputs), deviation, random)));
  }
  double sum(std::int32_t row, std::int32_t output) const {
    double sum = 0;
    for (std::int32_t i = 0; i < inputs; ++i)
      sum += double{weights[static_cast<std::size_t>(output * inputs + i)]} *
             double{input[static_cast<std::size_t>(row * inputs + i)]};
    return sum;
  }
  kernels::cuda::few_row_arguments arguments(const void* on_weights, const void* on_input, void* output,
                                             few_row_output kind, few_row_variant variant) const {
    return {.weights = on_weights,
            .input = on_input,
            .output = output,
            .rows = rows,
            .outputs = outputs,
            .inputs = inputs,
            .multiprocessors = 2,
            .kind = kind,
            .variant = variant,
            .type = checks::type_of<T>};
  }
};

class few_row_products_of : public test::cuda_kernels {
 protected:
  // Rows behind the last must stay as they are.
  template <class T>
  static void expect_sums(few_row_variant variant, std::int32_t rows, std::int32_t outputs,
                          std::int32_t inputs, std::mt19937& random) {
    ASSERT_TRUE(kernels::cuda::can_multiply_few_rows(variant, rows, inputs, false));
    const few_row_case<T> each(rows, outputs, inputs, random);
    const device_array<T> weights(test::rounded<T>(each.weights)), input(test::rounded<T>(each.input));
    const std::size_t count = static_cast<std::size_t>(rows) * static_cast<std::size_t>(outputs);
    const device_array<float> plain(std::vector<float>(count + 1, 7.0F)),
        added(std::vector<float>(count + 1, 7.0F));
    const device_array<T> narrow(count);
    using kernels::cuda::multiply_few_rows;
    multiply_few_rows(
        each.arguments(weights.data(), input.data(), plain.data(), few_row_output::f32, variant), nullptr);
    multiply_few_rows(
        each.arguments(weights.data(), input.data(), added.data(), few_row_output::add_to_f32, variant),
        nullptr);
    multiply_few_rows(
        each.arguments(weights.data(), input.data(), narrow.data(), few_row_output::rounded, variant),
        nullptr);
    const auto sums = plain.read(), sums_added = added.read(), rounded = test::floats(narrow.read());
    for (std::size_t i = 0; i < count; ++i) {
      const auto place = static_cast<std::int32_t>(i);
      const double expected = each.sum(place / outputs, place % outputs);
      ASSERT_NEAR(sums[i], expected, 1e-4) << rows << " x " << outputs << " x " << inputs << ", " << i;
      ASSERT_NEAR(sums_added[i], expected + 7, 1e-4);
      ASSERT_NEAR(rounded[i], expected, 1e-4 + std::abs(expected) * checks::rounding_of<T>);
    }
    EXPECT_EQ(sums.back(), 7.0F);
    EXPECT_EQ(sums_added.back(), 7.0F);
  }
  // Of normed rows, beside the kernels one by one.
  static void expect_gated(few_row_variant variant, std::int32_t rows, std::int32_t inputs,
                           std::int32_t width, std::mt19937& random) {
    const few_row_case<__nv_bfloat16> each(rows, 2 * width, inputs, random);
    const device_array<__nv_bfloat16> weights(test::rounded<__nv_bfloat16>(each.weights));
    const device_array<float> residual(
        test::normal_floats(static_cast<std::size_t>(rows * inputs), 5, random));
    const device_array<float> norm_weight(test::normal_floats(inputs, 1, random));
    const device_array<__nv_bfloat16> normed(static_cast<std::size_t>(rows * inputs)),
        sums(static_cast<std::size_t>(2 * rows * width));
    const device_array<__nv_bfloat16> gated(static_cast<std::size_t>(rows * width)),
        at_once(static_cast<std::size_t>(rows * width));
    kernels::cuda::residual_rms_norm({.residual = residual.data(),
                                      .addition = nullptr,
                                      .weight = norm_weight.data(),
                                      .output = normed.data(),
                                      .rows = rows,
                                      .width = inputs,
                                      .epsilon = 1e-5F,
                                      .type = kernels::cuda::element_type::bf16},
                                     nullptr);
    kernels::cuda::multiply_few_rows(
        each.arguments(weights.data(), normed.data(), sums.data(), few_row_output::rounded, variant),
        nullptr);
    kernels::cuda::silu_multiply({.gate_up = sums.data(),
                                  .output = gated.data(),
                                  .rows = rows,
                                  .width = width,
                                  .type = kernels::cuda::element_type::bf16},
                                 nullptr);
    auto whole = each.arguments(weights.data(), nullptr, at_once.data(), few_row_output::gated, variant);
    whole.residual = residual.data();
    whole.norm_weight = norm_weight.data();
    whole.epsilon = 1e-5F;
    kernels::cuda::multiply_few_rows(whole, nullptr);
    const auto expected = test::floats(gated.read()), found = test::floats(at_once.read());
    double magnitude = 0;
    for (std::size_t i = 0; i < expected.size(); ++i) {
      EXPECT_NEAR(found[i], expected[i], 0.02 + 0.03 * std::abs(expected[i])) << i;
      magnitude += std::abs(expected[i]);
    }
    EXPECT_GT(magnitude / static_cast<double>(expected.size()), 0.1) << "of nothing that says something";
  }
};

TEST_F(few_row_products_of, any_size_are_rows_times_weights) {
  std::mt19937 random(1);
  constexpr few_row_variant lanes = few_row_variant::lanes;
  for (std::int32_t rows = 1; rows <= 4; ++rows) {
    expect_sums<__nv_bfloat16>(lanes, rows, 37, 584, random);
    expect_sums<__half>(lanes, rows, 8, 8, random);
  }
  expect_sums<__nv_bfloat16>(lanes, 2, 200, 72, random);  // more than the blocks take at once
  // Around what is held in registers; beyond that weights are streamed.
  for (const std::int32_t inputs : {768, 776, 1536, 1544}) {
    expect_sums<__nv_bfloat16>(lanes, 1, 150, inputs, random);
    expect_sums<__half>(lanes, 3, 21, inputs, random);
  }
}

// Tiles that are full and not, of one and of several blocks; inputs around what is held in registers.
TEST_F(few_row_products_of, tiles_are_rows_times_weights_as_well) {
  std::mt19937 random(4);
  for (const few_row_variant variant : of_tiles) {
    for (const std::int32_t rows : {1, 5, 8, 16, 17, 32, 33, 64})
      expect_sums<__nv_bfloat16>(variant, rows, 37, 96, random);
    for (const std::int32_t inputs : {32, 256, 288, 768, 800, 1536, 1568}) {
      expect_sums<__nv_bfloat16>(variant, 9, 8, inputs, random);
      expect_sums<__half>(variant, 7, 29, inputs, random);
      expect_sums<__nv_bfloat16>(variant, 20, 71, inputs, random);
    }
  }
}

TEST_F(few_row_products_of, normed_rows_are_near_those_of_the_kernels_one_by_one) {
  std::mt19937 random(2);
  for (const std::int32_t inputs : {576, 776})
    expect_gated(few_row_variant::lanes, 3, inputs, inputs == 576 ? 24 : 150, random);
  for (const few_row_variant variant : of_tiles) {
    for (const std::int32_t rows : {1, 5, 16, 23, 50}) expect_gated(variant, rows, 160, 21, random);
    expect_gated(variant, 37, 704, 9, random);
  }
}

TEST_F(few_row_products_of, a_row_have_the_same_bits_whatever_is_beside_it) {
  std::mt19937 random(3);
  constexpr std::int32_t outputs = 20, inputs = 320, most = 40;
  const few_row_case<__nv_bfloat16> all(most, outputs, inputs, random);
  const device_array<__nv_bfloat16> weights(test::rounded<__nv_bfloat16>(all.weights));
  const device_array<__nv_bfloat16> input(test::rounded<__nv_bfloat16>(all.input));
  const auto multiply = [&](few_row_variant variant, std::int32_t first, std::int32_t rows) {
    const device_array<float> out(std::size_t{most} * outputs);
    auto part = all.arguments(weights.data(), input.data() + std::ptrdiff_t{first} * inputs, out.data(),
                              few_row_output::f32, variant);
    part.rows = rows;
    part.multiprocessors = rows;  // so that blocks have more outputs or fewer
    kernels::cuda::multiply_few_rows(part, nullptr);
    std::vector<float> found = out.read();
    found.resize(static_cast<std::size_t>(rows) * outputs);
    return found;
  };
  const auto expect_bits_of = [&](few_row_variant variant, const std::vector<float>& whole,
                                  std::int32_t first, std::int32_t rows) {
    const auto begin = whole.begin() + std::ptrdiff_t{first} * outputs;
    EXPECT_EQ(multiply(variant, first, rows),
              std::vector<float>(begin, begin + std::ptrdiff_t{rows} * outputs))
        << first << ", " << rows;
  };
  const std::vector<float> four = multiply(few_row_variant::lanes, 0, 4);
  for (const auto& [first, rows] : {std::pair{2, 1}, {1, 2}, {0, 3}})
    expect_bits_of(few_row_variant::lanes, four, first, rows);
  // Whatever blocks they are divided into.
  const std::vector<float> whole = multiply(few_row_variant::tiles, 0, most);
  for (const few_row_variant variant : of_tiles)
    for (const auto& [first, rows] : {std::pair{3, 5}, {0, 16}, {20, 17}})
      expect_bits_of(variant, whole, first, rows);
}

}  // namespace
}  // namespace troupe
