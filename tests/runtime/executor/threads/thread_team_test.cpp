#include "runtime/executor/threads/thread_team.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <stdexcept>
#include <thread>
#include <vector>

#include "runtime/executor/machine/core_affinity.hpp"

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

TEST(thread_team, members_have_cores_of_their_own_where_there_are_as_many) {
  const std::vector<std::int32_t> before = allowed_cores();
  for (const std::size_t members : {before.size(), before.size() + 1}) {
    thread_team team(static_cast<std::int32_t>(members));
    std::vector<std::vector<std::int32_t>> places(members);
    team.run([&](std::int32_t member) { places[static_cast<std::size_t>(member)] = allowed_cores(); });
    if (members == before.size() && members > 1) {
      std::vector<std::int32_t> own;
      for (const auto& place : places) {
        ASSERT_EQ(place.size(), 1U);
        own.push_back(place.front());
      }
      std::sort(own.begin(), own.end());
      EXPECT_EQ(own, before);
    } else {
      for (const auto& place : places) EXPECT_EQ(place, before);
    }
    EXPECT_EQ(allowed_cores(), before) << "the caller is free again";
  }
}

TEST(thread_team, a_caller_that_was_placed_somewhere_stays_there) {
  const std::vector<std::int32_t> all = allowed_cores();
  thread_team team(static_cast<std::int32_t>(all.size()));
  std::thread([&] {
    stay_on(all.back());
    team.run([](std::int32_t) {});
    EXPECT_EQ(allowed_cores(), std::vector<std::int32_t>{all.back()});
  }).join();
}

}  // namespace
}  // namespace troupe
