#include "runtime/executor/threads/futex.hpp"

#include <gtest/gtest.h>

#include <array>
#include <future>
#include <vector>

#include "tests/support/asleep.hpp"

namespace troupe {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

TEST(futex, nobody_sleeps_on_what_has_changed) {
  const std::atomic<std::uint32_t> value{8};
  sleep_on(value, 7, hours(1));
}

TEST(futex, a_sleeper_wakes_by_itself) {
  const std::atomic<std::uint32_t> value{7};
  const auto begin = std::chrono::steady_clock::now();
  int times = 0;
  for (; std::chrono::steady_clock::now() - begin < milliseconds(30); ++times)
    sleep_on(value, 7, milliseconds(20));
  EXPECT_LT(times, 100) << "it has slept, but for what wakes it for no reason";
}

TEST(futex, all_sleepers_can_be_woken) {
  std::atomic<std::uint32_t> value{7};
  std::array<std::atomic<pid_t>, 2> threads{};
  std::vector<std::future<void>> sleepers;
  for (std::atomic<pid_t>& thread : threads) {
    sleepers.push_back(std::async(std::launch::async, [&value, &thread] {
      thread = test::this_thread();
      while (value.load() == 7) sleep_on(value, 7, hours(1));
    }));
  }
  for (const std::atomic<pid_t>& thread : threads) test::wait_until_asleep(thread);
  value.store(8);
  wake_sleepers_on(value);
  for (const std::future<void>& sleeper : sleepers) {
    EXPECT_EQ(sleeper.wait_for(seconds(30)), std::future_status::ready);
    while (sleeper.wait_for(milliseconds(1)) != std::future_status::ready) wake_sleepers_on(value);
  }
}

}  // namespace
}  // namespace troupe
