#include "runtime/sampling/truncation.hpp"

#include <gtest/gtest.h>

#include <limits>

#include "runtime/sampling/row_math.hpp"
#include "tests/runtime/sampling/logits_fixture.hpp"

namespace troupe {
namespace {

std::vector<std::vector<float>> rows() {
  std::vector<std::vector<float>> all;
  for (const std::size_t size : {1U, 2U, 31U, 500U, 5000U}) {
    all.push_back(random_logits(size, size, 3.0F));        // like a model's
    all.push_back(random_logits(size, size, 1e-3F));       // nearly flat
    all.push_back(random_logits(size, size, 30.0F));       // nearly certain
    all.push_back(random_logits(size, size, 3.0F, 0.5F));  // many equal
    all.push_back(std::vector<float>(size, -2.5F));        // all equal
  }
  all.push_back({0.0F, -0.0F, 0.0F, -0.0F, 1.0F});
  auto ascending = random_logits(1, 5000, 3.0F);  // the greatest all in the last blocks
  std::sort(ascending.begin(), ascending.end());
  all.push_back(ascending);
  std::vector<float> few(5000, -std::numeric_limits<float>::infinity());
  few[17] = few[4000] = 1.0F;
  all.push_back(few);
  return all;
}

TEST(select_top_k, keeps_the_first_k_of_a_stable_sort) {
  std::vector<token_id> ids;
  std::vector<float> kept;
  std::vector<std::uint32_t> keys;
  for (const auto& logits : rows()) {
    const auto order = descending(logits);
    for (const std::size_t k : {1U, 2U, 3U, 20U, 499U, 4000U}) {
      if (k > logits.size()) continue;
      select_top_k(logits, k, ids, kept, keys);
      std::vector<std::size_t> expected(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(k));
      std::sort(expected.begin(), expected.end());
      ASSERT_EQ(std::vector<std::size_t>(ids.begin(), ids.end()), expected) << logits.size() << " " << k;
      for (std::size_t i = 0; i < k; ++i) ASSERT_EQ(kept[i], logits[expected[i]]);
    }
  }
}

TEST(select_top_k, takes_nan_last) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  std::vector<token_id> ids;
  std::vector<float> kept;
  std::vector<std::uint32_t> keys;
  const std::vector<float> logits = {nan, 1.0F, -nan, -std::numeric_limits<float>::infinity(), 0.0F};
  select_top_k(logits, 3, ids, kept, keys);
  EXPECT_EQ(ids, (std::vector<token_id>{1, 3, 4}));
}

TEST(keep_top_p, keeps_the_shortest_prefix_of_a_stable_sort_that_reaches_the_mass) {
  std::vector<float> gathered;
  std::vector<std::uint32_t> keys;
  for (const auto& logits : rows()) {
    std::vector<float> weights(logits.size());
    weigh(logits, row_max(logits), 1.0F, weights.data());
    const auto order = descending(weights);
    for (const double top_p : {1e-30, 0.001, 0.1, 0.5, 0.9, 0.95, 0.999, 1.0}) {
      std::vector<float> expected(weights.size(), 0.0F);
      double mass = 0.0;
      for (std::size_t i = 0; mass < top_p * sum_weights(weights); ++i) {
        expected[order[i]] = weights[order[i]];
        mass += static_cast<double>(weights[order[i]]);
      }
      std::vector<float> kept = weights;
      keep_top_p(kept, top_p, gathered, keys);
      ASSERT_EQ(kept, expected) << logits.size() << " " << top_p;
    }
  }
}

TEST(keep_top_p, passes_over_what_top_k_or_min_p_took_out) {
  std::vector<float> gathered;
  std::vector<std::uint32_t> keys;
  std::vector<float> weights = {0.0F, 0.5F, 0.0F, 1.0F, 0.0F, 0.5F};
  keep_top_p(weights, 0.75, gathered, keys);
  EXPECT_EQ(weights, (std::vector<float>{0.0F, 0.5F, 0.0F, 1.0F, 0.0F, 0.0F}));
}

}  // namespace
}  // namespace troupe
