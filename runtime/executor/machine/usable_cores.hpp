// How many cores this process may keep busy.
#pragma once
#include <cstdint>
#include <filesystem>
#include <optional>

namespace troupe {

// The cores of its affinity mask, or fewer where a control group limits its CPU time (containers). At
// least 1.
std::int32_t usable_cores();

// The CPU time that a control group and those above it grant, in cores, rounded up; nothing where none of
// them sets a limit. `mount` is /sys/fs/cgroup, `membership` the process's own entry (/proc/self/cgroup).
// Reads version 2 (cpu.max) and version 1 (cpu.cfs_quota_us, cpu.cfs_period_us) as the kernel's
// Documentation/admin-guide/cgroup-v2.rst and scheduler/sched-bwc.rst describe them.
std::optional<std::int32_t> cgroup_cpu_limit(const std::filesystem::path& mount,
                                             const std::filesystem::path& membership);

}  // namespace troupe
