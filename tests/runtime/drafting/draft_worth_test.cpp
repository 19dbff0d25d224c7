#include "runtime/drafting/draft_worth.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace troupe {
namespace {

using std::chrono::microseconds;

// Rows of the target come for nothing up to 16, and are dear behind.
draft_worth steep_behind_16_rows() {
  draft_worth worth;
  for (const std::int32_t rows : {1, 2, 4, 8, 16}) worth.target_step(rows, microseconds(1000));
  for (const std::int32_t rows : {17, 32, 64})
    worth.target_step(rows, microseconds(1000 + 1000 * (rows - 16)));
  for (const std::int32_t rows : {1, 64}) worth.draft_step(rows, microseconds(10));
  return worth;
}

TEST(draft_worth, all_tokens_of_a_step_are_weighed_against_all_their_rows) {
  const draft_worth worth = steep_behind_16_rows();
  EXPECT_EQ(worth.best_length(1, 1, {.rate = 0.9, .most = 8}), 8);
  EXPECT_EQ(worth.best_length(4, 4, {.rate = 0.9, .most = 8}), 3) << "4 rows and 12";
  EXPECT_EQ(worth.best_length(8, 8, {.rate = 0.9, .most = 8}), 1);
  EXPECT_EQ(worth.best_length(16, 16, {.rate = 0.9, .most = 8}), 0);
  EXPECT_EQ(worth.best_length(16, 1, {.rate = 0.9, .most = 8}), 0);
}

TEST(draft_worth, a_length_has_to_pay_for_what_is_seldom_right_and_for_what_leads_up_to_it) {
  const draft_worth worth = steep_behind_16_rows();
  EXPECT_EQ(worth.best_length(1, 1, {.rate = 0.001, .most = 8}), 0);
  EXPECT_LT(worth.best_length(1, 1, {.rate = 0.3, .most = 8}), 8);
  EXPECT_EQ(worth.best_length(1, 1, {.rate = 0.9, .lead_worth = 0.001, .lead = 1, .most = 8}), 0);
  EXPECT_EQ(worth.best_length(1, 1, {.rate = 0.9, .lead_worth = 0.9, .lead = 1, .most = 8}), 8);
}

TEST(draft_worth, nothing_is_worth_its_time_before_the_targets_steps_are_known) {
  EXPECT_EQ(draft_worth().best_length(1, 1, {.rate = 1.0, .most = 8}), 0);
}

}  // namespace
}  // namespace troupe
