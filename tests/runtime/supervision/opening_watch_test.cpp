#include "runtime/supervision/opening_watch.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace troupe {
namespace {

using std::chrono::milliseconds;
using std::chrono::minutes;
using std::chrono::seconds;
using verdict = opening_watch::verdict;

constexpr steady_time opened{seconds(1000)};

TEST(patience_for_opening, is_two_deadlines_and_no_less_than_a_minute) {
  EXPECT_EQ(patience_for_opening(seconds(1)), minutes(1));
  EXPECT_EQ(patience_for_opening(seconds(120)), minutes(4));
}

TEST(opening_watch, of_whom_nobody_knows_anything_goes_by_time) {
  opening_watch watch(seconds(60), opened);
  EXPECT_EQ(watch.look(opened + seconds(30), {}), verdict::gets_on);
  EXPECT_EQ(watch.look(opened + seconds(31), {}), verdict::is_late);
  EXPECT_EQ(watch.look(opened + seconds(60), {}), verdict::is_late);
  EXPECT_EQ(watch.look(opened + seconds(61), {}), verdict::hangs);
}

TEST(opening_watch, waits_for_who_reads_a_page_now_and_then) {
  for (const process_work step : {process_work{.major_faults = 1}, process_work{.read_bytes = 4096}}) {
    opening_watch watch(seconds(60), opened);
    process_work done;
    for (int i = 1; i <= 100; ++i) {
      done.major_faults += step.major_faults;
      done.read_bytes += step.read_bytes;
      EXPECT_EQ(watch.look(opened + i * seconds(29), done), verdict::gets_on) << i;
    }
    EXPECT_EQ(watch.moved_at(), opened + 100 * seconds(29));
    EXPECT_EQ(watch.look(opened + 101 * seconds(29) + seconds(2), done), verdict::is_late);
    EXPECT_EQ(watch.look(opened + 103 * seconds(29), done), verdict::hangs);
  }
}

TEST(opening_watch, takes_threads_that_look_up_now_and_then_for_no_work) {
  opening_watch watch(seconds(60), opened);
  process_work done{.cpu_seconds = 0.05};
  verdict last = verdict::gets_on;
  for (int tenth = 1; tenth <= 610; ++tenth) {
    done.cpu_seconds += 64 * 5e-6;  // each of 64 threads, ten times a second
    last = watch.look(opened + tenth * milliseconds(100), done);
  }
  EXPECT_EQ(last, verdict::hangs);
}

TEST(opening_watch, waits_for_who_computes_but_not_forever) {
  opening_watch watch(seconds(60), opened);
  const auto busy_at = [&](seconds since) {
    return watch.look(opened + since, process_work{.cpu_seconds = static_cast<double>(since.count())});
  };
  for (seconds since{1}; since <= minutes(5); since += seconds(1))
    ASSERT_EQ(busy_at(since), verdict::gets_on) << since.count();
  EXPECT_EQ(busy_at(minutes(5) + seconds(40)), verdict::is_late);
  EXPECT_EQ(busy_at(minutes(6) + seconds(1)), verdict::hangs);
}

}  // namespace
}  // namespace troupe
