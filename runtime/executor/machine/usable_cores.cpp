#include "runtime/executor/machine/usable_cores.hpp"

#include <sched.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <thread>

#include "runtime/executor/machine/cgroup.hpp"

namespace troupe {
namespace {

namespace fs = std::filesystem;

using cores = std::optional<std::int32_t>;

cores in_cores(std::int64_t quota, std::int64_t period) {
  if (quota <= 0 || period <= 0) return std::nullopt;
  return static_cast<std::int32_t>(std::clamp<std::int64_t>((quota - 1) / period + 1, 1, 1 << 16));
}

cores cores_of(const fs::path& group) {
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

}  // namespace

cores cgroup_cpu_limit(const fs::path& mount, const fs::path& membership) {
  cores limit;
  for (const fs::path& folder : cgroup_folders(mount, membership, "cpu"))
    limit = least(limit, cores_of(folder));
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
