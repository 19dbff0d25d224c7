#include "runtime/drafting/verification_costs.hpp"

#include <gtest/gtest.h>

#include <optional>

namespace troupe {
namespace {

verification_costs usual() {
  verification_costs costs;
  for (const std::int32_t rows : {1, 2, 4, 8}) costs.measured({.rows = rows}, 1000 + 100 * rows);
  return costs;
}

TEST(verification_costs, of_usual_rows_are_nothing_more) {
  const verification_costs costs = usual();
  EXPECT_EQ(costs.usual().cost(4), 1400);
  EXPECT_EQ(costs.of_first_row(5000, true), 0);
  EXPECT_EQ(costs.of_further_row(5000, true), 0);
}

TEST(verification_costs, grow_with_the_context_of_the_first_row_and_of_further_ones) {
  verification_costs costs = usual();
  costs.measured({.rows = 1, .context = 1256}, 1100 + 3000);
  EXPECT_EQ(costs.of_first_row(1256, false), 0) << "half of it is not known";
  costs.measured({.rows = 8, .context = 1256}, 1800 + 3000 + 7 * 500);
  EXPECT_DOUBLE_EQ(costs.of_first_row(1256, false), 3000);
  EXPECT_DOUBLE_EQ(costs.of_further_row(1256, false), 500);
  EXPECT_DOUBLE_EQ(costs.of_further_row(2256, false), 1000);
  EXPECT_EQ(costs.of_first_row(100, false), 0);
  EXPECT_EQ(costs.of_further_row(256, false), 0);
  EXPECT_EQ(costs.usual().cost(8), 1800) << "what is usual stays";
}

TEST(verification_costs, of_a_row_that_is_drawn_at_random_are_its_own) {
  verification_costs costs = usual();
  costs.measured({.rows = 8, .is_random = true}, 1800 + 8 * 40);
  EXPECT_DOUBLE_EQ(costs.of_first_row(10, true), 40);
  EXPECT_DOUBLE_EQ(costs.of_further_row(10, true), 40);
  EXPECT_EQ(costs.of_further_row(10, false), 0);
}

TEST(verification_costs, that_were_measured_in_a_bad_moment_become_those_of_a_load) {
  verification_costs costs = usual();
  costs.measured({.rows = 4}, 9000);
  costs.measured({.rows = 8, .is_random = true}, 1800 + 8 * 40);
  costs.served(1, 0, 1100);
  for (int i = 0; i < 200; ++i) costs.served(4, 4 * 40, 1400 + 4 * 40);
  for (int i = 0; i < 200; ++i) costs.served(6, 0, 1600);
  EXPECT_NEAR(*costs.usual().cost(4), 1400, 5);
  EXPECT_NEAR(*costs.usual().cost(6), 1600, 5);
  EXPECT_NEAR(*costs.usual().cost(1), 1100, 30) << "beside two rows, which are not served";
}

TEST(verification_costs, follow_a_load_past_dearer_and_cheaper_neighbours) {
  verification_costs costs = usual();
  for (int i = 0; i < 400; ++i) costs.served(2, 0, 1200);
  for (int i = 0; i < 400; ++i) costs.served(1, 0, 1190);
  EXPECT_NEAR(*costs.usual().cost(1), 1190, 5);
  EXPECT_NEAR(*costs.usual().cost(2), 1200, 5);
}

TEST(verification_costs, of_row_counts_that_are_not_served_leave_a_slow_start_behind_too) {
  verification_costs costs;
  for (const std::int32_t rows : {1, 2, 4, 8}) costs.measured({.rows = rows}, 2 * (1000 + 100 * rows));
  for (int i = 0; i < 400; ++i) costs.served(1, 0, 1100);
  for (const std::int32_t rows : {1, 2, 4, 8}) EXPECT_NEAR(*costs.usual().cost(rows), 1000 + 100 * rows, 20);
  for (int i = 0; i < 400; ++i) costs.served(8, 0, 1900);
  EXPECT_NEAR(*costs.usual().cost(8), 1900, 5);
  EXPECT_NEAR(*costs.usual().cost(1), 1100, 5) << "what was served stays as it was served";
}

TEST(verification_costs, do_not_follow_one_step_that_has_waited) {
  verification_costs costs = usual();
  costs.served(4, 0, 1e9);
  EXPECT_DOUBLE_EQ(*costs.usual().cost(4), 1400 * 1.05);
  costs.served(20, 0, 1e9);
  EXPECT_EQ(costs.usual().cost(20), std::nullopt) << "nothing was known of so many rows";
}

TEST(verification_costs, never_take_time_away) {
  verification_costs costs = usual();
  costs.measured({.rows = 8, .is_random = true}, 1700);
  costs.measured({.rows = 1, .context = 1256}, 900);
  costs.measured({.rows = 8, .context = 1256}, 1000);
  EXPECT_EQ(costs.of_first_row(4000, true), 0);
  EXPECT_EQ(costs.of_further_row(4000, true), 0);
}

}  // namespace
}  // namespace troupe
