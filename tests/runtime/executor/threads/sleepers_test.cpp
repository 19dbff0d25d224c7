#include "runtime/executor/threads/sleepers.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>

#include "runtime/executor/threads/futex.hpp"
#include "tests/support/asleep.hpp"

namespace troupe {
namespace {

// Somebody who sleeps until a number changes.
class sleeper {
 public:
  explicit sleeper(sleepers& among)
      : waits_(std::async(std::launch::async, [this, &among] {
          thread_ = test::this_thread();
          among.wait_while(value, 7);
        })) {
    test::wait_until_asleep(thread_);
  }
  // Whether the change is noticed, and without help.
  bool goes_on() {
    const bool alone = waits_.wait_for(std::chrono::seconds(30)) == std::future_status::ready;
    while (waits_.wait_for(std::chrono::milliseconds(1)) != std::future_status::ready)
      wake_sleepers_on(value);
    return alone;
  }

  std::atomic<std::uint32_t> value{7};

 private:
  std::atomic<pid_t> thread_{0};
  std::future<void> waits_;
};

TEST(sleepers, do_not_wait_for_what_has_changed) {
  for (const std::int32_t looks : {0, 1000}) {
    sleepers all(looks);
    const std::atomic<std::uint32_t> value{8};
    all.wait_while(value, 7);
  }
}

TEST(sleepers, are_woken) {
  for (const std::int32_t looks : {0, 1000}) {
    sleepers all(looks);
    sleeper who(all);
    who.value = 8;
    all.wake(who.value);
    EXPECT_TRUE(who.goes_on());
  }
}

TEST(sleepers, go_on_where_a_wake_up_is_lost) {
  sleepers all(0);
  sleeper who(all);
  who.value = 8;
  EXPECT_TRUE(who.goes_on());
}

}  // namespace
}  // namespace troupe
