// The control groups that bound this process: version 2's one tree, or version 1's tree of a controller.
#pragma once
#include <filesystem>
#include <string_view>
#include <vector>

namespace troupe {

// The folders of the process's group and of every group above it up to the mount, whatever the version: a
// limit of any of them binds. `membership` is /proc/self/cgroup, `mount` /sys/fs/cgroup, `controller` "cpu"
// or "memory". In a container the membership may name what is outside of it: such folders do not exist, the
// mount's own does.
std::vector<std::filesystem::path> cgroup_folders(const std::filesystem::path& mount,
                                                  const std::filesystem::path& membership,
                                                  std::string_view controller);

}  // namespace troupe
