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
