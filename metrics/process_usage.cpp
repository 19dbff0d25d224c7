#include "metrics/process_usage.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

namespace troupe::metrics {
namespace {

// The fields of /proc/ID/stat behind the program's name, which may hold blanks and brackets.
struct stat_fields {
  double start_ticks = 0, virtual_bytes = 0, resident_pages = 0;
};

std::optional<stat_fields> read_stat(const std::string& id) {
  std::ifstream in("/proc/" + id + "/stat");
  std::string line;
  if (!std::getline(in, line)) return std::nullopt;
  std::istringstream rest(line.substr(line.rfind(')') + 1));
  stat_fields out;
  std::string skipped;
  for (int field = 3; field <= 24; ++field) {
    switch (field) {
      case 22:
        rest >> out.start_ticks;
        break;
      case 23:
        rest >> out.virtual_bytes;
        break;
      case 24:
        rest >> out.resident_pages;
        break;
      default:
        rest >> skipped;
    }
  }
  if (!rest) return std::nullopt;
  return out;
}

// Of the process `id`; 0: of this one. By its clock: /proc/ID/stat counts hundredths of a second.
std::optional<double> cpu_seconds(pid_t id) {
  clockid_t clock{};
  timespec used{};
  if (::clock_getcpuclockid(id, &clock) != 0 || ::clock_gettime(clock, &used) != 0) return std::nullopt;
  return static_cast<double>(used.tv_sec) + 1e-9 * static_cast<double>(used.tv_nsec);
}

double resident_bytes(const stat_fields& stat) {
  return stat.resident_pages * static_cast<double>(::sysconf(_SC_PAGESIZE));
}

// The system makes it of its clock whenever it is asked: whoever looked after the clock was set would see
// another start of this process.
std::optional<double> boot_seconds() {
  std::ifstream in("/proc/stat");
  for (std::string line; std::getline(in, line);)
    if (line.starts_with("btime ")) return std::strtod(line.c_str() + 6, nullptr);
  return std::nullopt;
}

double count_descriptors() {
  std::error_code failure;
  double count = 0;
  for (std::filesystem::directory_iterator entry("/proc/self/fd", failure), end; !failure && entry != end;
       entry.increment(failure))
    ++count;
  return count > 0 ? count - 1 : 0;  // the listing's own is one of them
}

}  // namespace

std::optional<process_usage> read_process_usage() {
  const auto stat = read_stat("self");
  static const auto boot = boot_seconds();
  const auto used = cpu_seconds(0);
  if (!stat || !boot || !used) return std::nullopt;
  process_usage out;
  out.cpu_seconds = *used;
  out.start_seconds = *boot + stat->start_ticks / static_cast<double>(::sysconf(_SC_CLK_TCK));
  out.virtual_bytes = stat->virtual_bytes;
  out.resident_bytes = resident_bytes(*stat);
  out.open_descriptors = count_descriptors();
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) == 0) out.max_descriptors = static_cast<double>(limit.rlim_cur);
  return out;
}

std::optional<other_process_usage> read_process_usage(std::int32_t id) {
  const auto stat = read_stat(std::to_string(id));
  const auto used = cpu_seconds(id);
  if (!stat || !used) return std::nullopt;
  return other_process_usage{*used, resident_bytes(*stat)};
}

}  // namespace troupe::metrics
