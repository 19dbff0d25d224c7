#include "runtime/executor/usable_cores.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

namespace troupe {
namespace {

namespace fs = std::filesystem;

using cores = std::optional<std::int32_t>;

cores in_cores(std::int64_t quota, std::int64_t period) {
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>((quota - 1) / period + 1, 1, 1 << 16));
}

cores limit_of(const fs::path& group) {
  std::int64_t quota = 0;
  std::int64_t period = 0;
  if (std::ifstream(group / "cpu.max") >> quota >> period) return in_cores(quota, period);
  std::ifstream(group / "cpu.cfs_quota_us") >> quota;
  std::ifstream(group / "cpu.cfs_period_us") >> period;
  return in_cores(quota, period);
}

cores least(cores a, cores b) {
  if (!a || !b) return a ? a : b;
  return std::min(*a, *b);
}

// The group's own limit and those of all above it, up to the mount.
cores limit_up_from(const fs::path& mount, const fs::path& group) {
  cores limit = limit_of(mount);
  fs::path folder = mount;
  for (const fs::path& part : group.relative_path()) {
    folder /= part;
    limit = least(limit, limit_of(folder));
  }
  return limit;
}

}  // namespace

cores cgroup_cpu_limit(const fs::path& mount, const fs::path& membership) {
  cores limit;
  std::ifstream lines(membership);
  // "number:controllers:path"; version 2 names no controller.
  for (std::string line; std::getline(lines, line);) {
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, second - first - 1);
    const std::string path = line.substr(second + 1);
    if (controllers.empty()) {
      limit = least(limit, limit_up_from(mount, path));
    } else if (controllers == "cpu" || controllers == "cpu,cpuacct") {
      limit = least(limit, limit_up_from(mount / controllers, path));
    }
  }
  return limit;
}

std::int32_t usable_cores() {
  auto count = static_cast<std::int32_t>(std::max(1U, std::thread::hardware_concurrency()));
  cpu_set_t mask;
  CPU_ZERO(&mask);
  if (::sched_getaffinity(0, sizeof(mask), &mask) == 0) count = std::max(1, CPU_COUNT(&mask));
  return std::min(count, cgroup_cpu_limit("/sys/fs/cgroup", "/proc/self/cgroup").value_or(count));
}

}  // namespace troupe
