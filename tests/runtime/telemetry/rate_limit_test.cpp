#include "runtime/telemetry/rate_limit.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

using std::chrono::seconds;

const steady_time first_call{seconds(1000)};

TEST(rate_limit, lets_a_burst_pass_then_one_for_each_interval_and_counts_the_others) {
  rate_limit limit(2, seconds(10));
  EXPECT_EQ(limit.pass(first_call), 0U);
  EXPECT_EQ(limit.pass(first_call), 0U);
  EXPECT_FALSE(limit.pass(first_call));
  EXPECT_FALSE(limit.pass(first_call + seconds(9)));
  EXPECT_EQ(limit.pass(first_call + seconds(10)), 2U);
  EXPECT_FALSE(limit.pass(first_call + seconds(19)));
  EXPECT_EQ(limit.pass(first_call + seconds(20)), 1U);
}

TEST(rate_limit, saves_up_no_more_than_a_burst) {
  rate_limit limit(2, seconds(10));
  limit.pass(first_call);
  limit.pass(first_call);
  const steady_time later = first_call + seconds(1'000);
  EXPECT_EQ(limit.pass(later), 0U);
  EXPECT_EQ(limit.pass(later), 0U);
  EXPECT_FALSE(limit.pass(later));
  EXPECT_FALSE(limit.pass(later + seconds(9)));
  EXPECT_EQ(limit.pass(later + seconds(10)), 2U);
}

TEST(rate_limit, earns_by_whole_intervals_however_often_it_is_asked) {
  rate_limit limit(1, seconds(10));
  limit.pass(first_call);
  int passed = 0;
  for (int second = 1; second <= 100; ++second)
    if (limit.pass(first_call + seconds(second))) ++passed;
  EXPECT_EQ(passed, 10);
}

}  // namespace
}  // namespace troupe
