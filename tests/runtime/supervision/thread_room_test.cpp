#include "runtime/supervision/thread_room.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <fstream>
#include <string>

namespace troupe {
namespace {

int threads_here() {
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;)
    if (int count = 0; word == "Threads:" && status >> count) return count;
  return 0;
}

TEST(thread_room, starts_as_many_as_are_asked_for_and_leaves_none) {
  const int before = threads_here();
  EXPECT_TRUE(room_for_threads(0));
  EXPECT_TRUE(room_for_threads(40));
  for (int i = 0; i < 1000 && threads_here() > before; ++i) ::usleep(1000);  // until the system counts none
  EXPECT_EQ(threads_here(), before);
}

// In a process of a user who has no other one: the limit is of all that a user has.
TEST(thread_room, says_what_there_is_where_the_system_starts_no_more) {
  const pid_t child = ::fork();
  if (child == 0) {
    constexpr uid_t nobody_else = 54'321;
    if (::setresuid(nobody_else, nobody_else, nobody_else) != 0) ::_exit(77);
    const rlimit few{4, 4};
    ::setrlimit(RLIMIT_NPROC, &few);
    const auto room = room_for_threads(10);
    if (room || room.error().code != error_code::resource_exhausted) ::_exit(1);
    if (!room.error().message.starts_with("the system starts 3 of the 10 threads")) ::_exit(2);
    for (int i = 0; i < 1000 && threads_here() > 1; ++i) ::usleep(1000);
    ::_exit(room_for_threads(3) ? 0 : 3);
  }
  int status = 0;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  ASSERT_TRUE(WIFEXITED(status));
  if (WEXITSTATUS(status) == 77) GTEST_SKIP() << "only root may become another user";
  EXPECT_EQ(WEXITSTATUS(status), 0);
}

}  // namespace
}  // namespace troupe
