#include "runtime/isolation/process_work.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <optional>
#include <thread>

#include "runtime/isolation/runner_process.hpp"
#include "tests/support/paths.hpp"

namespace troupe {
namespace {

void compute() {
  const auto end = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  while (std::chrono::steady_clock::now() < end) {
  }
}

TEST(process_work, of_this_process_is_what_its_other_threads_compute) {
  const auto before = read_work_of_other_threads();
  ASSERT_TRUE(before);
  compute();
  const auto alone = read_work_of_other_threads();
  EXPECT_LT(alone->cpu_seconds - before->cpu_seconds, 0.01);
  std::thread(compute).join();
  EXPECT_GT(read_work_of_other_threads()->cpu_seconds - alone->cpu_seconds, 0.001);
  EXPECT_GT(read_process_work(::getpid())->cpu_seconds, alone->cpu_seconds);
}

TEST(process_work, of_a_process_that_is_stopped_does_not_grow_and_of_one_that_has_ended_is_unknown) {
  const auto runner = runner_process::start({test::runner_program_path(), {"runner", "any"}}, {});
  ASSERT_TRUE(runner);
  process_handle& handle = *(*runner)->handle();
  ::kill(handle.id(), SIGSTOP);
  std::optional<process_work> before;
  std::optional<process_work> after;
  for (int i = 0; i < 100 && (!before || before->cpu_seconds != after->cpu_seconds); ++i) {
    before = handle.work();
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    after = handle.work();
  }
  ASSERT_TRUE(before && after);
  EXPECT_EQ(before->cpu_seconds, after->cpu_seconds);
  handle.kill();
  handle.how_it_ended();
  EXPECT_FALSE(handle.work());
}

}  // namespace
}  // namespace troupe
