#include "runtime/sampling/row_math.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "tests/runtime/sampling/logits_fixture.hpp"

namespace troupe {
namespace {

// Lengths around the edges of the vector code.
constexpr std::size_t lengths[] = {1, 2, 15, 16, 17, 255, 256, 257, 1000};

TEST(row_max, equals_the_standard_librarys_at_every_length) {
  for (const std::size_t length : lengths) {
    const auto row = random_logits(length, length, 5.0F);
    EXPECT_EQ(row_max(row), *std::max_element(row.begin(), row.end())) << length;
  }
}

TEST(arg_max, is_the_lowest_index_of_the_greatest_wherever_it_stands) {
  for (const std::size_t length : lengths) {
    for (std::size_t at = 0; at < length; at += 1 + length / 37) {
      std::vector<float> row(length, -1.0F);
      row[at] = 2.0F;
      row.back() = 2.0F;
      EXPECT_EQ(arg_max(row), static_cast<token_id>(at)) << length;
    }
  }
}

TEST(arg_max, reads_nan_as_the_least_and_a_row_of_nothing_as_0) {
  EXPECT_EQ(arg_max(std::vector<float>{nan, -infinity, -3.0F, nan}), 2);
  EXPECT_EQ(arg_max(std::vector<float>(40, nan)), 0);
  EXPECT_EQ(arg_max(std::vector<float>(40, -infinity)), 0);
  EXPECT_EQ(arg_max({}), 0);
}

TEST(weigh, is_the_exponential_to_float_precision_on_the_grid) {
  std::vector<float> logits;
  for (float x = 0.0F; x > -30.0F; x -= 0.001F) logits.push_back(x);
  std::vector<float> weights(logits.size());
  weigh(logits, 0.0F, 1.0F, weights.data());
  for (std::size_t i = 0; i < logits.size(); ++i) {
    const double exact = std::exp(static_cast<double>(logits[i]));
    ASSERT_NEAR(weights[i], exact, exact * 2e-7 + 0.51 * static_cast<double>(weight_step)) << logits[i];
    const double steps = static_cast<double>(weights[i]) / static_cast<double>(weight_step);
    ASSERT_EQ(steps, std::floor(steps)) << logits[i];
  }
}

TEST(weigh, gives_nothing_to_nan_and_minus_infinity_and_all_to_plus_infinity) {
  std::vector<float> weights(4);
  weigh(std::vector<float>{nan, -infinity, 1.0F, -1e38F}, 1.0F, 1e5F, weights.data());
  EXPECT_EQ(weights, (std::vector<float>{0.0F, 0.0F, 1.0F, 0.0F}));
  weigh(std::vector<float>{nan, infinity, 1.0F, infinity}, infinity, 1.0F, weights.data());
  EXPECT_EQ(weights, (std::vector<float>{0.0F, 1.0F, 0.0F, 1.0F}));
}

TEST(sum_weights, is_the_same_in_any_order) {
  auto logits = random_logits(3, 49152, 2.0F);
  std::vector<float> weights(logits.size());
  weigh(logits, row_max(logits), 1.0F, weights.data());
  const double sum = sum_weights(weights);
  std::mt19937 shuffler(1);
  for (int i = 0; i < 5; ++i) {
    std::shuffle(weights.begin(), weights.end(), shuffler);
    EXPECT_EQ(sum_weights(weights), sum);
  }
  std::sort(weights.begin(), weights.end());
  EXPECT_EQ(std::accumulate(weights.begin(), weights.end(), 0.0), sum);
}

TEST(log_sum_exp, agrees_with_double_precision) {
  for (const std::size_t length : lengths) {
    const auto logits = random_logits(length, length, 4.0F);
    const float max = row_max(logits);
    double sum = 0.0;
    for (const float logit : logits) sum += std::exp(static_cast<double>(logit) - static_cast<double>(max));
    EXPECT_NEAR(log_sum_exp(logits, max), std::log(sum), 1e-6) << length;
  }
}

TEST(invert_distribution, equals_a_plain_scan_at_and_around_every_border) {
  const std::vector<float> weights = {0.0F, 0.25F, 0.0F, 0.5F, 0.125F, 0.125F, 0.0F};
  EXPECT_EQ(invert_distribution(weights, 0.0), 1U);
  EXPECT_EQ(invert_distribution(weights, 0.25 - 1e-12), 1U);
  EXPECT_EQ(invert_distribution(weights, 0.25), 3U);
  EXPECT_EQ(invert_distribution(weights, 0.75 - 1e-12), 3U);
  EXPECT_EQ(invert_distribution(weights, 0.75), 4U);
  EXPECT_EQ(invert_distribution(weights, 1.0 - 0x1.0p-53), 5U);
}

TEST(invert_distribution, equals_a_plain_scan_over_long_rows) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    const auto logits = random_logits(seed, 1000 + seed, 3.0F);
    std::vector<float> weights(logits.size());
    weigh(logits, row_max(logits), 1.0F, weights.data());
    const double u = uniform(seed, 7);
    double target = u * sum_weights(weights);
    std::size_t expected = 0;
    for (; target >= static_cast<double>(weights[expected]); ++expected)
      target -= static_cast<double>(weights[expected]);
    EXPECT_EQ(invert_distribution(weights, u), expected) << seed;
  }
}

}  // namespace
}  // namespace troupe
