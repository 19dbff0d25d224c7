#include "runtime/isolation/process_handle.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <system_error>
#include <utility>
#include <vector>

#include "runtime/isolation/crash_signals.hpp"

extern "C" {
#include <sys/pidfd.h>  // of glibc 2.36 forgets to say that it is C
}

namespace troupe {
namespace {

double seconds_of(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
}

std::string describe_end(int status) {
  if (WIFEXITED(status)) return fmt::format("exit code {}", WEXITSTATUS(status));
  return describe_signal(WTERMSIG(status));
}

std::string first_line_of(const std::filesystem::path& file) {
  std::string line;
  std::getline(std::ifstream(file), line);
  return line;
}

// From its folder under /proc; empty where there is no such thread any more.
std::string describe_thread(const std::filesystem::path& folder) {
  const std::string stat = first_line_of(folder / "stat");
  const std::size_t behind_name = stat.rfind(')');
  if (behind_name == std::string::npos) return {};
  std::istringstream rest(stat.substr(behind_name + 1));
  const std::vector<std::string> fields{std::istream_iterator<std::string>(rest), {}};
  constexpr std::size_t state = 0;       // field 3 of proc(5)
  constexpr std::size_t processor = 36;  // field 39
  if (fields.size() <= processor) return {};
  const std::string place = first_line_of(folder / "wchan");
  const bool waits = !place.empty() && place != "0";
  return fmt::format("{} {} on {}{}", first_line_of(folder / "comm"), fields[state], fields[processor],
                     waits ? " in " + place : "");
}

}  // namespace

process_handle::~process_handle() { ::close(descriptor_); }

void process_handle::kill() {
  if (has_ended()) return;
  is_killed_ = true;
  ::pidfd_send_signal(descriptor_, SIGKILL, nullptr, 0);
}

bool process_handle::has_ended() const {
  pollfd watched{descriptor_, POLLIN, 0};
  return ::poll(&watched, 1, 0) == 1;
}

std::string process_handle::describe_threads() const {
  if (has_ended()) return {};  // its number may be a stranger's by now
  std::vector<std::string> threads;
  std::error_code gone;
  for (std::filesystem::directory_iterator each(fmt::format("/proc/{}/task", id_), gone), end;
       !gone && each != end; each.increment(gone)) {
    if (std::string thread = describe_thread(each->path()); !thread.empty())
      threads.push_back(std::move(thread));
  }
  return fmt::format("{}", fmt::join(threads, ", "));
}

std::optional<process_work> process_handle::work() const {
  return has_ended() ? std::nullopt : read_process_work(id_);
}

std::string process_handle::how_it_ended() {
  const std::lock_guard lock(waiting_);
  wait();
  return end_;
}

std::optional<int> process_handle::exit_code() {
  const std::lock_guard lock(waiting_);
  wait();
  return exit_code_;
}

bool process_handle::was_killed_by_others() {
  if (is_killed_ || !has_ended()) return false;
  const std::lock_guard lock(waiting_);
  wait();
  return ended_by_sent_signal_;
}

double process_handle::cpu_seconds() {
  const std::lock_guard lock(waiting_);
  wait();
  return cpu_seconds_;
}

void process_handle::wait() {
  if (!end_.empty()) return;
  int status = 0;
  rusage used{};
  pid_t waited = 0;
  do {
    waited = ::wait4(id_, &status, 0, &used);
  } while (waited < 0 && errno == EINTR);
  // Where SIGCHLD is ignored, or somebody else waits for every child, nobody is told: that is no fault of
  // what the process computed, as far as anybody knows.
  end_ = waited == id_
             ? describe_end(status)
             : "an end that was not told (SIGCHLD is ignored, or others wait for this program's children)";
  if (waited == id_ && WIFEXITED(status)) exit_code_ = WEXITSTATUS(status);
  ended_by_sent_signal_ = waited != id_ || (WIFSIGNALED(status) && !is_crash_signal(WTERMSIG(status)));
  if (waited == id_) cpu_seconds_ = seconds_of(used.ru_utime) + seconds_of(used.ru_stime);
}

}  // namespace troupe
