#include <gtest/gtest.h>

#include "tests/runtime/sampling/logits_fixture.hpp"

namespace troupe {
namespace {

TEST(log_probabilities, agree_with_a_full_sort_in_double_precision) {
  for (const std::size_t size : {1U, 5U, 64U, 65U, 3000U}) {
    for (const float grid : {0.0F, 0.5F}) {
      const auto logits = random_logits(size, size, 3.0F, grid);
      const auto order = descending(logits);
      double sum = 0.0;
      for (const float logit : logits) sum += std::exp(static_cast<double>(logit));
      for (std::size_t position = 0; position < size; position += 1 + size / 13) {
        const auto found = log_probabilities(logits, static_cast<token_id>(order[position]), 20);
        EXPECT_EQ(found.token, static_cast<token_id>(order[position]));
        EXPECT_EQ(found.rank, static_cast<std::int32_t>(position) + 1);
        EXPECT_NEAR(found.logprob, static_cast<double>(logits[order[position]]) - std::log(sum), 1e-5);
        ASSERT_EQ(found.top.size(), std::min<std::size_t>(20, size));
        for (std::size_t i = 0; i < found.top.size(); ++i) {
          EXPECT_EQ(found.top[i].first, static_cast<token_id>(order[i]));
          EXPECT_NEAR(found.top[i].second, static_cast<double>(logits[order[i]]) - std::log(sum), 1e-5);
        }
      }
    }
  }
}

TEST(log_probabilities, find_the_best_in_ascending_and_descending_rows) {
  std::vector<float> logits(1000);
  std::iota(logits.begin(), logits.end(), 0.0F);
  EXPECT_EQ(log_probabilities(logits, 0, 3).top[2].first, 997);
  std::reverse(logits.begin(), logits.end());
  EXPECT_EQ(log_probabilities(logits, 0, 3).top[2].first, 2);
}

TEST(log_probabilities, are_finite_for_rows_that_are_not) {
  const std::vector<std::vector<float>> rows = {{nan, 1.0F, -infinity, 2.0F},
                                                {nan, nan, nan, nan},
                                                {-infinity, -infinity, -infinity, -infinity},
                                                {infinity, 1.0F, nan, infinity}};
  for (const auto& logits : rows) {
    for (token_id token = 0; token < 4; ++token) {
      const auto found = log_probabilities(logits, token, 4);
      EXPECT_TRUE(std::isfinite(found.logprob));
      EXPECT_GE(found.rank, 1);
      EXPECT_LE(found.rank, 4);
      for (const auto& [id, logprob] : found.top) EXPECT_TRUE(std::isfinite(logprob)) << id;
    }
  }
}

TEST(log_probabilities, take_any_token_and_any_count) {
  const std::vector<float> logits = {0.0F, 1.0F};
  EXPECT_EQ(log_probabilities(logits, 0, 1000).top.size(), 2U);
  EXPECT_TRUE(log_probabilities(logits, 0, 0).top.empty());
  EXPECT_TRUE(log_probabilities(logits, 0, -1).top.empty());
  EXPECT_TRUE(std::isfinite(log_probabilities(logits, 2, 1).logprob));
  EXPECT_TRUE(std::isfinite(log_probabilities(logits, -1, 1).logprob));
}

}  // namespace
}  // namespace troupe
