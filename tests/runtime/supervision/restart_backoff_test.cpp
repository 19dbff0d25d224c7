#include "runtime/supervision/restart_backoff.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <vector>

namespace troupe {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;

constexpr steady_time begin{seconds(1000)};

TEST(restart_backoff, waits_twice_as_long_each_time_up_to_a_limit) {
  restart_backoff backoff({milliseconds(250), seconds(5)});
  backoff.is_back(begin);
  std::vector<milliseconds> pauses;
  for (steady_time now = begin; pauses.size() < 8; now += pauses.back() + milliseconds(400)) {
    backoff.is_back(now);
    pauses.push_back(std::chrono::duration_cast<milliseconds>(backoff.ended(now)));
  }
  const std::vector<milliseconds> expected{milliseconds(0),    milliseconds(250),  milliseconds(500),
                                           milliseconds(1000), milliseconds(2000), milliseconds(4000),
                                           milliseconds(5000), milliseconds(5000)};
  EXPECT_EQ(pauses, expected);
}

TEST(restart_backoff, begins_anew_with_somebody_who_has_lived_for_long) {
  restart_backoff backoff;
  backoff.is_back(begin);
  for (int i = 0; i < 5; ++i) backoff.ended(begin);
  backoff.is_back(begin + seconds(20));
  EXPECT_GT(backoff.ended(begin + seconds(29)).count(), 0);
  backoff.is_back(begin + seconds(40));
  EXPECT_EQ(backoff.ended(begin + seconds(50)).count(), 0);
}

TEST(restart_backoff, does_not_take_the_time_of_a_start_for_life) {
  restart_backoff backoff;
  steady_time now = begin;
  for (int i = 0; i < 8; ++i) {
    const auto pause = backoff.ended(now);
    EXPECT_EQ(pause.count() > 0, i > 0) << i;
    now += pause + seconds(60);
  }
}

TEST(restart_backoff, does_not_count_a_life_twice) {
  restart_backoff backoff;
  backoff.is_back(begin);
  EXPECT_EQ(backoff.ended(begin + seconds(60)).count(), 0);
  EXPECT_GT(backoff.ended(begin + seconds(61)).count(), 0) << "the next one has never begun";
}

}  // namespace
}  // namespace troupe
