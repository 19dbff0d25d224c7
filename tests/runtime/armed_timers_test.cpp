#include "runtime/armed_timers.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace troupe {
namespace {

steady_time at(int second) { return steady_time(std::chrono::seconds(second)); }

TEST(armed_timers, are_armed_where_none_goes_off_before) {
  armed_timers timers;
  EXPECT_TRUE(timers.add(at(100)));
  EXPECT_FALSE(timers.add(at(100)));
  EXPECT_FALSE(timers.add(at(200)));
  EXPECT_TRUE(timers.add(at(50)));
}

TEST(armed_timers, are_remembered_until_they_go_off) {
  armed_timers timers;
  timers.add(at(100));
  for (int now = 10; now < 100; now += 10) {
    EXPECT_TRUE(timers.add(at(now)));
    timers.gone_off(at(now));
    EXPECT_FALSE(timers.add(at(100))) << "it is armed since the beginning";
  }
  timers.gone_off(at(100));
  EXPECT_TRUE(timers.add(at(200)));
}

}  // namespace
}  // namespace troupe
