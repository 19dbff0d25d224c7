// Every piece of work once, on any thread, and errors where run() was called.
#include "runtime/grammar/mask_team.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <latch>
#include <stdexcept>

namespace troupe::grammar {
namespace {

TEST(mask_team, everything_is_done_once_however_many_threads_there_are) {
  for (const std::size_t threads : {1U, 2U, 4U}) {
    mask_team team(threads);
    for (const std::size_t count : {0U, 1U, 2U, 3U, 100U, 1U, 7U}) {
      std::vector<int> done(count);  // not atomic: run() orders what it did before what follows
      team.run(count, [&](std::size_t i) { ++done[i]; });
      EXPECT_TRUE(std::ranges::all_of(done, [](int times) { return times == 1; }))
          << threads << ", " << count;
    }
  }
}

TEST(mask_team, two_threads_work_at_the_same_time) {
  mask_team team(2);
  std::latch both(2);
  team.run(2, [&](std::size_t) { both.arrive_and_wait(); });
}

TEST(mask_team, what_a_piece_throws_is_thrown_once_the_others_are_done) {
  for (const std::size_t threads : {2U, 3U}) {
    mask_team team(threads);
    std::vector<int> done(20);
    EXPECT_THROW(team.run(done.size(),
                          [&](std::size_t i) {
                            if (i == 3) throw std::runtime_error("no memory");
                            ++done[i];
                          }),
                 std::runtime_error);
    EXPECT_EQ(std::ranges::count(done, 1), 19);
    team.run(done.size(), [&](std::size_t i) { ++done[i]; });
    EXPECT_EQ(std::ranges::count(done, 2), 19) << "and then it works as before";
  }
}

}  // namespace
}  // namespace troupe::grammar
