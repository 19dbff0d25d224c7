#include "runtime/executor/available_memory.hpp"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <optional>
#include <string>

namespace troupe {
namespace {

namespace fs = std::filesystem;

// "N" or "N kB"; nothing for "max" and everything else.
std::optional<std::uint64_t> read_number(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t");
  if (begin == std::string_view::npos) return std::nullopt;
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, failure] = std::from_chars(text.data() + begin, end, value);
  if (failure != std::errc{}) return std::nullopt;
  const bool kilobytes = std::string_view(rest, static_cast<std::size_t>(end - rest)).starts_with(" kB");
  return kilobytes ? value * 1024 : value;
}

// The value of the line "key value" or "key: value".
std::optional<std::uint64_t> find_line(const fs::path& file, std::string_view key) {
  std::ifstream in(file);
  for (std::string line; std::getline(in, line);) {
    if (line.starts_with(key)) return read_number(std::string_view(line).substr(key.size()));
  }
  return std::nullopt;
}

std::optional<std::uint64_t> read_file(const fs::path& file) { return find_line(file, ""); }

// What is left of one group's limit; nothing where it has none.
std::optional<std::uint64_t> left_in(const fs::path& group, const char* limit_name, const char* usage_name,
                                     const char* cache_name) {
  const auto limit = read_file(group / limit_name);
  const auto usage = read_file(group / usage_name);
  if (!limit || !usage) return std::nullopt;
  const std::uint64_t cache = find_line(group / "memory.stat", cache_name).value_or(0);
  const std::uint64_t held = *usage - std::min(*usage, cache);
  return *limit - std::min(*limit, held);
}

// A group's limit binds whatever its ancestors allow, and theirs binds too. In a container the path names
// what is outside of it: then only the mount's own root is there to look at.
template <class Left>
void lower_by_groups(std::uint64_t& bytes, const fs::path& mount, fs::path group, Left left) {
  while (true) {
    if (const auto here = left(mount / group.relative_path())) bytes = std::min(bytes, *here);
    if (!group.has_relative_path()) return;
    group = group.parent_path();
  }
}

}  // namespace

result<std::uint64_t> available_memory(const fs::path& root) {
  const auto available = find_line(root / "proc/meminfo", "MemAvailable:");
  if (!available)
    return fail(error_code::io_error, "/proc/meminfo does not say how much memory is available");
  std::uint64_t bytes = *available;
  std::ifstream groups(root / "proc/self/cgroup");
  for (std::string line; std::getline(groups, line);) {
    // "0::/path" (v2) or "9:memory:/path" (v1, several controllers separated by commas)
    const std::size_t first = line.find(':');
    const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
    if (second == std::string::npos) continue;
    const std::string controllers = "," + line.substr(first + 1, second - first - 1) + ",";
    const fs::path group = line.substr(second + 1);
    if (controllers == ",,") {
      lower_by_groups(bytes, root / "sys/fs/cgroup", group, [](const fs::path& path) {
        return left_in(path, "memory.max", "memory.current", "inactive_file");
      });
    } else if (controllers.find(",memory,") != std::string::npos) {
      lower_by_groups(bytes, root / "sys/fs/cgroup/memory", group, [](const fs::path& path) {
        return left_in(path, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
      });
    }
  }
  return bytes;
}

}  // namespace troupe
