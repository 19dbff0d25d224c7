#include "runtime/isolation/process_work.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <fstream>
#include <sstream>
#include <string>

namespace troupe {
namespace {

// Field 12 of proc(5)'s stat; those behind the program's name, which may hold blanks and brackets, begin with
// the third.
std::uint64_t major_faults_of(const std::string& folder) {
  std::ifstream in(folder + "/stat");
  std::string line;
  std::getline(in, line);
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  std::string skipped;
  for (int field = 3; field < 12; ++field) rest >> skipped;
  std::uint64_t faults = 0;
  rest >> faults;
  return faults;
}

std::uint64_t read_bytes_of(const std::string& folder) {
  std::ifstream in(folder + "/io");
  std::string name;
  for (std::uint64_t bytes = 0; in >> name >> bytes;)
    if (name == "read_bytes:") return bytes;
  return 0;
}

// Its clock is finer than the hundredths of a second of /proc.
std::optional<double> cpu_seconds_of(pid_t id) {
  clockid_t clock{};
  return ::clock_getcpuclockid(id, &clock) == 0 ? cpu_seconds_on(clock) : std::nullopt;
}

}  // namespace

std::optional<double> cpu_seconds_on(clockid_t clock) {
  timespec used{};
  if (::clock_gettime(clock, &used) != 0) return std::nullopt;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

std::optional<process_work> read_process_work(pid_t id) {
  const std::string folder = fmt::format("/proc/{}", id);
  const auto used = cpu_seconds_of(id);
  if (!used) return std::nullopt;
  return process_work{*used, major_faults_of(folder), read_bytes_of(folder)};
}

std::optional<process_work> read_work_of_other_threads() {
  auto all = read_process_work(::getpid());
  if (all) all->cpu_seconds -= cpu_seconds_on(CLOCK_THREAD_CPUTIME_ID).value_or(0);
  return all;
}

}  // namespace troupe
