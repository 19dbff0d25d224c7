#include "main/service/end_guard.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <future>
#include <thread>

namespace troupe::cli {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(EndGuard, LetsAnEndThatComesInTimeBe) {
  for (const auto time : {milliseconds(400), milliseconds(3'600'000)}) {
    end_guard guard([] {});
    guard.end_by(end_guard::clock::now() + time, 7, "a test");
  }
  SUCCEED();
}

// A death test's process must have no threads but its own.
struct EndGuardDeath : testing::Test {
  EndGuardDeath() { GTEST_FLAG_SET(death_test_style, "threadsafe"); }
};

TEST_F(EndGuardDeath, EndsTheProcessAtTheSoonestTimeAfterItsLastWords) {
  EXPECT_EXIT(
      {
        end_guard guard([] { std::fputs("farewell", stderr); });
        guard.end_by(end_guard::clock::now() + milliseconds(500), 7, "a test");
        guard.end_by(end_guard::clock::now() + hours(1), 8, "a test");
        std::this_thread::sleep_for(hours(1));
      },
      testing::ExitedWithCode(7), "farewell");
}

TEST_F(EndGuardDeath, DoesNotWaitForWordsThatNeverEnd) {
  EXPECT_EXIT(
      {
        end_guard guard([] { std::this_thread::sleep_for(hours(1)); });
        guard.end_by(end_guard::clock::now() + milliseconds(400), 7, "a test");
        std::this_thread::sleep_for(milliseconds(200));
        guard.end_by(end_guard::clock::now() + hours(1), 8, "a test");  // takes no lock that the words hold
        std::this_thread::sleep_for(hours(1));
      },
      testing::ExitedWithCode(7), "");
}

}  // namespace
}  // namespace troupe::cli
