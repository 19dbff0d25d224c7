#include "runtime/drafting/acceptance.hpp"

#include <gtest/gtest.h>

#include <cmath>

#include "tests/support/dice.hpp"

namespace troupe {
namespace {

TEST(acceptance_estimates, converge_to_the_share_that_comes_true) {
  for (const std::int32_t percent : {2, 30, 75, 98}) {
    dice random(static_cast<std::uint64_t>(percent));
    acceptance_estimates estimates;
    const token_evidence evidence{draft_source::tenant, 6, 0.6F, 2};
    for (int i = 0; i < 3000; ++i) estimates.observe(evidence, random.chance(percent));
    EXPECT_NEAR(estimates.estimate(evidence), static_cast<double>(percent) / 100.0, 0.06);
  }
}

TEST(acceptance_estimates, of_one_class_say_nothing_of_another) {
  acceptance_estimates estimates;
  const token_evidence seen{draft_source::request, 12, 1.0F, 1};
  const token_evidence others[] = {{draft_source::tenant, 12, 1.0F, 1},
                                   {draft_source::request, 3, 1.0F, 1},
                                   {draft_source::request, 12, 0.7F, 1},
                                   {draft_source::request, 12, 1.0F, 9}};
  float before[4];
  for (int i = 0; i < 4; ++i) before[i] = estimates.estimate(others[i]);
  for (int i = 0; i < 100; ++i) estimates.observe(seen, false);
  EXPECT_LT(estimates.estimate(seen), 0.1F);
  for (int i = 0; i < 4; ++i) EXPECT_EQ(estimates.estimate(others[i]), before[i]);
}

TEST(acceptance_estimates, forget_what_is_long_ago) {
  acceptance_estimates estimates;
  const token_evidence evidence{};
  for (int i = 0; i < 100000; ++i) estimates.observe(evidence, false);
  for (int i = 0; i < 2000; ++i) estimates.observe(evidence, true);
  EXPECT_GT(estimates.estimate(evidence), 0.9F);
}

TEST(acceptance_estimates, are_probabilities_whatever_the_evidence) {
  acceptance_estimates estimates;
  for (const std::int32_t length : {-5, 0, 1, 2, 1 << 30}) {
    for (const float probability : {0.0F, 1e-9F, 0.5F, 1.0F}) {
      for (const std::uint32_t count : {0U, 1U, ~0U}) {
        const token_evidence evidence{draft_source::request, length, probability, count};
        for (const bool is_right : {true, false}) {
          EXPECT_GT(estimates.estimate(evidence), 0.0F);
          EXPECT_LT(estimates.estimate(evidence), 1.0F);
          estimates.observe(evidence, is_right);
        }
      }
    }
  }
}

// A sequence that is better or worse than its class.
TEST(acceptance_bias, converges_to_the_sequence_s_own_share) {
  for (const std::int32_t percent : {10, 50, 90}) {
    dice random(static_cast<std::uint64_t>(percent));
    acceptance_bias bias;
    double sum = 0.0;
    for (int i = 0; i < 4000; ++i) {
      bias.observe(0.5F, random.chance(percent));
      if (i >= 1000) sum += static_cast<double>(bias.adjust(0.5F));
    }
    EXPECT_NEAR(sum / 3000.0, static_cast<double>(percent) / 100.0, 0.08);
  }
}

TEST(acceptance_bias, a_sequence_whose_drafts_never_come_true_is_soon_not_drafted_for_and_recovers) {
  acceptance_bias bias;
  EXPECT_FLOAT_EQ(bias.adjust(0.6F), 0.6F);
  for (int i = 0; i < 8; ++i) bias.observe(0.6F, false);
  EXPECT_LT(bias.adjust(0.6F), 0.25F);
  for (int i = 0; i < 40; ++i) bias.observe(0.6F, false);
  EXPECT_LT(bias.adjust(0.6F), 0.1F);
  for (int i = 0; i < 10000; ++i) bias.observe(0.6F, false);
  for (int i = 0; i < 40; ++i) bias.observe(0.6F, true);
  EXPECT_GT(bias.adjust(0.6F), 0.6F);
}

TEST(acceptance_bias, keeps_the_order_of_classes) {
  acceptance_bias bias;
  for (int i = 0; i < 5; ++i) bias.observe(0.4F, i % 2 == 0);
  float last = 0.0F;
  for (float estimate = 0.05F; estimate < 1.0F; estimate += 0.05F) {
    EXPECT_GT(bias.adjust(estimate), last);
    last = bias.adjust(estimate);
    EXPECT_LT(last, 1.0F);
  }
}

}  // namespace
}  // namespace troupe
