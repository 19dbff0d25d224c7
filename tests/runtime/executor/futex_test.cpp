#include "runtime/executor/futex.hpp"

#include <gtest/gtest.h>

#include <thread>

namespace troupe {
namespace {

using std::chrono::hours;
using std::chrono::milliseconds;

TEST(futex, nobody_sleeps_on_what_has_changed) {
  const std::atomic<std::uint32_t> value{8};
  sleep_on(value, 7, hours(1));
}

TEST(futex, a_sleeper_wakes_by_itself) {
  const std::atomic<std::uint32_t> value{7};
  const auto begin = std::chrono::steady_clock::now();
  while (std::chrono::steady_clock::now() - begin < milliseconds(30)) sleep_on(value, 7, milliseconds(20));
}

TEST(futex, all_sleepers_can_be_woken) {
  std::atomic<std::uint32_t> value{7};
  std::atomic<int> asleep{0};
  const auto sleep = [&] {
    ++asleep;
    while (value.load() == 7) sleep_on(value, 7, hours(1));
  };
  std::thread one(sleep);
  std::thread another(sleep);
  while (asleep.load() != 2) std::this_thread::yield();
  value.store(8);
  wake_sleepers_on(value);
  one.join();
  another.join();
}

}  // namespace
}  // namespace troupe
