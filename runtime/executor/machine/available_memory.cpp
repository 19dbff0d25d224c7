#include "runtime/executor/machine/available_memory.hpp"

#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include "runtime/executor/machine/cgroup.hpp"

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

// What a group may hold, of either version; nothing where it has no limit.
std::optional<std::uint64_t> limit_of(const fs::path& group) {
  const auto limit = read_file(group / "memory.max");
  return limit ? limit : read_file(group / "memory.limit_in_bytes");
}

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

// What is left below a group's limit, of either version; nothing where it has none.
std::optional<std::uint64_t> left_in(const fs::path& group) {
  const auto left = left_in(group, "memory.max", "memory.current", "inactive_file");
  if (left) return left;
  return left_in(group, "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file");
}

std::optional<std::uint64_t> left_on_machine(const fs::path& root) {
  return find_line(root / "proc/meminfo", "MemAvailable:");
}

// The least of what `bytes_of` says of each group; where all say nothing there is no end to it.
template <class Bytes>
std::uint64_t least_of_groups(const fs::path& root, Bytes bytes_of) {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const fs::path& group : cgroup_folders(root / "sys/fs/cgroup", root / "proc/self/cgroup", "memory")) {
    if (const std::optional<std::uint64_t> bytes = bytes_of(group)) least = std::min(least, *bytes);
  }
  return least;
}

std::uint64_t left_in_groups(const fs::path& root) {
  return least_of_groups(root, [](const fs::path& group) { return left_in(group); });
}

}  // namespace

result<std::uint64_t> available_memory(const fs::path& root) {
  const auto available = left_on_machine(root);
  if (!available)
    return fail(error_code::io_error, "/proc/meminfo does not say how much memory is available");
  return std::min(*available, left_in_groups(root));
}

result<std::uint64_t> total_memory(const fs::path& root) {
  const auto total = find_line(root / "proc/meminfo", "MemTotal:");
  if (!total) return fail(error_code::io_error, "/proc/meminfo does not say how much memory there is");
  return std::min(*total, least_of_groups(root, limit_of));
}

bool is_memory_of_group(const fs::path& root) {
  const auto available = left_on_machine(root);
  return available && left_in_groups(root) < *available;
}

std::uint64_t resident_memory(const fs::path& root) {
  std::ifstream statm(root / "proc/self/statm");
  std::uint64_t size = 0;
  std::uint64_t resident = 0;
  std::uint64_t shared = 0;
  if (!(statm >> size >> resident >> shared)) return 0;
  return (resident - std::min(resident, shared)) * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

}  // namespace troupe
