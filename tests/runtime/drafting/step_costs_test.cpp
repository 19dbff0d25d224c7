#include "runtime/drafting/step_costs.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "tests/support/dice.hpp"

namespace troupe {
namespace {

TEST(step_costs, are_unknown_beyond_what_was_measured) {
  step_costs costs;
  EXPECT_FALSE(costs.cost(1));
  EXPECT_EQ(costs.most_rows(), 0);
  costs.measured(2, 10.0);
  costs.measured(8, 22.0);
  EXPECT_FALSE(costs.cost(1));
  EXPECT_FALSE(costs.cost(9));
  EXPECT_EQ(costs.most_rows(), 8);
}

TEST(step_costs, are_interpolated_between_what_was_measured) {
  step_costs costs;
  costs.measured(8, 22.0);
  costs.measured(2, 10.0);
  EXPECT_DOUBLE_EQ(*costs.cost(2), 10.0);
  EXPECT_DOUBLE_EQ(*costs.cost(5), 16.0);
  EXPECT_DOUBLE_EQ(*costs.cost(8), 22.0);
}

TEST(step_costs, move_towards_a_new_measurement) {
  step_costs costs;
  costs.measured(1, 10.0);
  costs.measured(1, 20.0, 0.25);
  EXPECT_DOUBLE_EQ(*costs.cost(1), 12.5);
}

TEST(step_costs, average_measurements_that_would_fall) {
  step_costs costs;
  costs.measured(1, 10.0);
  costs.measured(2, 14.0);
  costs.measured(3, 12.0);
  costs.measured(4, 20.0);
  EXPECT_DOUBLE_EQ(*costs.cost(2), 13.0);
  EXPECT_DOUBLE_EQ(*costs.cost(3), 13.0);
}

TEST(step_costs, never_fall_and_know_their_least_slope) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    dice random(seed);
    step_costs costs;
    for (int i = random.pick(1, 12); i > 0; --i)
      costs.measured(random.pick(1, 40), random.pick(1, 1000), random.pick(0, 100) / 100.0);
    const std::int32_t last = costs.most_rows();
    for (std::int32_t rows = 1; rows < last; ++rows) {
      if (!costs.cost(rows)) continue;
      double least = std::numeric_limits<double>::infinity();
      for (std::int32_t more = rows; more < last; ++more)
        least = std::min(least, *costs.cost(more + 1) - *costs.cost(more));
      ASSERT_GE(least, -1e-9) << "seed " << seed;
      ASSERT_NEAR(costs.least_slope(rows), least, 1e-9) << "seed " << seed << ", rows " << rows;
    }
    EXPECT_EQ(costs.least_slope(last), 0.0);
  }
}

// Of sixteen rows on a machine on which nine take hardly more than eight, and the start timed them badly.
TEST(step_costs, of_rows_that_are_not_served_stay_however_long_others_are) {
  dice random(3);
  step_costs costs;
  for (const std::int32_t rows : {1, 2, 4, 8}) costs.measured(rows, 1000.0 + rows);
  costs.measured(4, 1300, 1.0);
  for (const std::int32_t rows : {16, 32, 64, 128}) costs.measured(rows, 300.0 * rows);
  for (int step = 0; step < 20'000; ++step) costs.served(8, 900.0 + random.pick(0, 200), 0.05);
  EXPECT_NEAR(*costs.cost(8), 1000, 60);
  EXPECT_NEAR(*costs.cost(64) / *costs.cost(128), 0.5, 0.01);
  EXPECT_NEAR(*costs.cost(64), 64 * 300, 64 * 60);
}

TEST(step_costs, of_nearly_as_many_rows_are_learned_together) {
  dice random(5);
  step_costs costs;
  for (const std::int32_t rows : {1, 2, 4, 8, 16, 32, 64, 128}) costs.measured(rows, 400.0 * rows);
  for (int step = 0; step < 300; ++step) {
    const std::int32_t rows = random.pick(60, 92);
    costs.served(rows, (600.0 * rows) * (0.95 + 0.001 * random.pick(0, 100)), 0.05);
  }
  for (const std::int32_t rows : {62, 70, 78, 86, 90})
    EXPECT_NEAR(*costs.cost(rows) / (600.0 * rows), 1.0, 0.05) << rows;
  EXPECT_NEAR((*costs.cost(84) - *costs.cost(68)) / 16, 600, 150);
}

TEST(step_costs, ignore_what_is_no_measurement) {
  step_costs costs;
  costs.measured(0, 1.0);
  costs.measured(1, 0.0);
  costs.measured(1, std::nan(""));
  costs.measured(1, std::numeric_limits<double>::infinity());
  EXPECT_EQ(costs.most_rows(), 0);
  for (std::int32_t rows = 1; rows <= 1000; ++rows) costs.measured(rows, 1.0);
  EXPECT_EQ(costs.most_rows(), static_cast<std::int32_t>(step_costs::most_points));
}

}  // namespace
}  // namespace troupe
