#include "runtime/isolation/child_process.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <memory>
#include <regex>
#include <string>
#include <thread>
#include <vector>

#include "runtime/isolation/exit_with_children.hpp"

namespace troupe {
namespace {

// What a shell writes to its first descriptor until it ends.
std::string told_by(const std::string& script, const std::vector<std::string>& withheld = {}) {
  std::array<int, 2> ends{};
  EXPECT_EQ(::pipe2(ends.data(), O_CLOEXEC), 0);
  const std::array lent{ends[1]};
  {
    const auto started =
        child_process::start({"/bin/sh", {"sh", "-c", "exec >&3; " + script}, withheld}, lent);
    EXPECT_TRUE(started.has_value()) << started.error().message;
    ::close(ends[1]);
    EXPECT_EQ((*started)->how_it_ended(), "exit code 0");
  }
  std::string told(1 << 16, '\0');
  const ssize_t bytes = ::read(ends[0], told.data(), told.size());
  ::close(ends[0]);
  told.resize(bytes > 0 ? static_cast<std::size_t>(bytes) : 0);
  return told;
}

// Nobody has told it yet that it is to end with its parent.
TEST(exit_with_children, leaves_no_child_behind) {
  std::array<int, 2> told{};
  ASSERT_EQ(::pipe2(told.data(), O_CLOEXEC), 0);
  const pid_t parent = ::fork();
  if (parent == 0) {
    std::signal(SIGHUP, SIG_IGN);
    const pid_t child = ::fork();
    while (child == 0) ::pause();  // holds the pipe, too
    exit_with_children(::write(told[1], &child, sizeof child) == sizeof child ? 7 : 8);
  }
  ::close(told[1]);
  int status = 0;
  ASSERT_EQ(::waitpid(parent, &status, 0), parent);
  ASSERT_TRUE(WIFEXITED(status));
  EXPECT_EQ(WEXITSTATUS(status), 7);
  pid_t child = 0;
  ASSERT_EQ(::read(told[0], &child, sizeof child), static_cast<ssize_t>(sizeof child));
  pollfd watched{told[0], POLLIN, 0};
  if (::poll(&watched, 1, 10'000) != 1) {
    ADD_FAILURE() << "process " << child << " holds it still";
    ::kill(child, SIGKILL);
  }
  char nothing = 0;
  EXPECT_EQ(::read(told[0], &nothing, 1), 0);
  ::close(told[0]);
}

TEST(child_process, is_told_how_many_descriptors_it_has_and_who_has_started_it) {
  EXPECT_EQ(told_by("echo $0 $1"), "1 " + std::to_string(::getpid()) + "\n");
}

TEST(child_process, does_not_know_what_is_withheld_and_all_else) {
  ::setenv("TROUPE_TEST_SECRET", "a key", 1);
  ::setenv("TROUPE_TEST_SECRETS", "no key", 1);
  EXPECT_EQ(told_by("echo ${TROUPE_TEST_SECRET-none} ${TROUPE_TEST_SECRETS-none}", {"TROUPE_TEST_SECRET"}),
            "none no key\n");
  EXPECT_EQ(told_by("echo ${TROUPE_TEST_SECRET-none}"), "a key\n");
  ::unsetenv("TROUPE_TEST_SECRET");
  ::unsetenv("TROUPE_TEST_SECRETS");
}

TEST(child_process, is_spared_crash_signals_until_it_can_tell_who_has_sent_them) {
  EXPECT_EQ(told_by("kill -SEGV $$; kill -ABRT $$; echo on"), "on\n");
}

TEST(child_process, ends_with_its_owner_and_others_hear_how) {
  std::shared_ptr<process_handle> handle;
  {
    const auto started = child_process::start({"/bin/sh", {"sh", "-c", "kill -STOP $$"}, {}}, {});
    handle = (*started)->handle();
    EXPECT_GT(handle->id(), 0);
    EXPECT_FALSE(handle->has_ended());
  }
  EXPECT_TRUE(handle->has_ended());
  EXPECT_EQ(handle->how_it_ended(), "signal 9 (Killed)");
}

// A shell that has stopped itself, or is about to.
void let_go_on(const process_handle& shell) {
  const std::regex stopped("sh T on .*");
  while (!std::regex_match(shell.describe_threads(), stopped) && !shell.has_ended())
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  ::kill(shell.id(), SIGCONT);
}

// As in a program that wants to know of no child.
TEST(child_process, whose_end_nobody_is_told_of_has_not_ended_by_its_own_fault) {
  const auto before = std::signal(SIGCHLD, SIG_IGN);
  const auto started = child_process::start({"/bin/sh", {"sh", "-c", "kill -STOP $$; exit 3"}, {}}, {});
  ASSERT_TRUE(started) << started.error().message;
  const std::shared_ptr<process_handle> handle = (*started)->handle();
  let_go_on(*handle);
  EXPECT_TRUE(handle->how_it_ended().starts_with("an end that was not told")) << handle->how_it_ended();
  EXPECT_TRUE(handle->was_killed_by_others());
  std::signal(SIGCHLD, before);
}

TEST(child_process, that_is_known_is_not_the_one_that_is_being_started) {
  const auto started = child_process::start({"/bin/sh", {"sh", "-c", "kill -STOP $$; exit 5"}, {}}, {});
  const std::shared_ptr<process_handle> handle = (*started)->handle();
  kill_child_being_started();
  let_go_on(*handle);
  EXPECT_EQ(handle->how_it_ended(), "exit code 5");
}

TEST(child_process, tells_what_each_of_its_threads_does) {
  const auto started = child_process::start({"/bin/sh", {"sh", "-c", "kill -STOP $$"}, {}}, {});
  const std::shared_ptr<process_handle> handle = (*started)->handle();
  const std::regex stopped("sh T on [0-9]+( in [a-z_]+)?");
  for (int i = 0; i < 10000 && !std::regex_match(handle->describe_threads(), stopped); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_TRUE(std::regex_match(handle->describe_threads(), stopped)) << handle->describe_threads();
  handle->kill();
  while (!handle->has_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
  EXPECT_EQ(handle->describe_threads(), "") << "nobody has waited for its end yet";
  EXPECT_EQ(handle->how_it_ended(), "signal 9 (Killed)");
  EXPECT_EQ(handle->describe_threads(), "");
}

TEST(child_process, may_be_ended_by_who_does_not_own_it) {
  const auto started = child_process::start({"/bin/sh", {"sh", "-c", "kill -STOP $$"}, {}}, {});
  const std::shared_ptr<process_handle> handle = (*started)->handle();
  std::thread other([&handle] { handle->kill(); });
  EXPECT_EQ((*started)->how_it_ended(), "signal 9 (Killed)");
  other.join();
}

TEST(child_process, knows_whether_others_have_killed_it) {
  const auto ended = [](const std::string& script, bool is_ours) {
    const auto started = child_process::start({"/bin/sh", {"sh", "-c", script}, {}}, {});
    const std::shared_ptr<process_handle> handle = (*started)->handle();
    EXPECT_FALSE(handle->was_killed_by_others() && is_ours);
    if (is_ours) handle->kill();
    while (!handle->has_ended()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    handle->kill();  // too late to be the reason
    return handle->was_killed_by_others();
  };
  EXPECT_TRUE(ended("kill -KILL $$", false));
  EXPECT_TRUE(ended("kill -USR1 $$", false));
  EXPECT_FALSE(ended("kill -STOP $$", true));
  EXPECT_FALSE(ended("kill -SEGV $$", false));
  EXPECT_FALSE(ended("exit 9", false));
}

TEST(child_process, tells_the_time_that_it_has_used) {
  const auto started = child_process::start(
      {"/bin/sh", {"sh", "-c", "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done"}, {}}, {});
  EXPECT_GT((*started)->handle()->cpu_seconds(), 0);
  EXPECT_EQ((*started)->how_it_ended(), "exit code 0");
}

}  // namespace
}  // namespace troupe
