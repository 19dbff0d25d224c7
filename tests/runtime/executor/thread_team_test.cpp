#include "runtime/executor/thread_team.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <vector>

namespace troupe {
namespace {

TEST(thread_team, every_member_runs_the_task_once) {
  for (const std::int32_t members : {1, 2, 3, 7}) {
    thread_team team(members);
    std::vector<int> calls(static_cast<std::size_t>(members));
    for (int round = 0; round < 50; ++round) {
      team.run([&](std::int32_t member) { ++calls[static_cast<std::size_t>(member)]; });
    }
    for (const int count : calls) EXPECT_EQ(count, 50);
  }
}

TEST(thread_team, a_phase_sees_all_that_the_phase_before_wrote) {
  thread_team team(3);
  std::vector<std::int64_t> first(300);
  std::vector<std::int64_t> second(300);
  std::atomic<int> wrong{0};
  for (int round = 1; round < 200; ++round) {
    team.run([&](std::int32_t) {
      for (auto i = team.claim(7); i < 300; i = team.claim(7)) {
        for (auto j = i; j < std::min<std::int64_t>(i + 7, 300); ++j)
          first[static_cast<std::size_t>(j)] = j * round;
      }
      team.barrier();
      for (auto i = team.claim(1); i < 300; i = team.claim(1)) {
        second[static_cast<std::size_t>(i)] = first[static_cast<std::size_t>(299 - i)];
      }
      team.barrier();
      for (auto i = team.claim(1); i < 300; i = team.claim(1)) {
        if (second[static_cast<std::size_t>(i)] != (299 - i) * round) ++wrong;
      }
    });
  }
  EXPECT_EQ(wrong.load(), 0);
}

TEST(thread_team, an_exception_reaches_the_caller_and_the_team_works_on) {
  thread_team team(3);
  for (std::int32_t thrower = 0; thrower < 3; ++thrower) {
    EXPECT_THROW(team.run([&](std::int32_t member) {
      team.barrier();
      if (member == thrower) throw std::runtime_error("fault");
      team.barrier();
      team.barrier();
    }),
                 std::runtime_error);
    std::atomic<int> done{0};
    team.run([&](std::int32_t) {
      team.barrier();
      ++done;
    });
    EXPECT_EQ(done.load(), 3);
  }
}

TEST(thread_team, all_members_may_fail_at_once) {
  thread_team team(4);
  EXPECT_THROW(team.run([](std::int32_t) { throw std::invalid_argument("fault"); }), std::invalid_argument);
}

}  // namespace
}  // namespace troupe
