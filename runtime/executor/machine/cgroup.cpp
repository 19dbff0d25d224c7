#include "runtime/executor/machine/cgroup.hpp"

#include <fstream>
#include <optional>
#include <string>

namespace troupe {
namespace {

namespace fs = std::filesystem;

// A line of the membership: "number:controllers:path". Version 2 names no controller.
struct group_line {
  std::string controllers;
  fs::path path;
};

std::optional<group_line> parse(const std::string& line) {
  const std::size_t first = line.find(':');
  const std::size_t second = first == std::string::npos ? first : line.find(':', first + 1);
  if (second == std::string::npos) return std::nullopt;
  return group_line{line.substr(first + 1, second - first - 1), line.substr(second + 1)};
}

bool names(const std::string& controllers, std::string_view controller) {
  return ("," + controllers + ",").find("," + std::string(controller) + ",") != std::string::npos;
}

// Version 1 mounts controllers that share a tree under their joined names, and links each alone.
fs::path tree_of(const fs::path& mount, const group_line& line, std::string_view controller) {
  if (line.controllers.empty()) return mount;
  const fs::path joined = mount / line.controllers;
  std::error_code ignored;
  return fs::exists(joined, ignored) ? joined : mount / controller;
}

}  // namespace

std::vector<fs::path> cgroup_folders(const fs::path& mount, const fs::path& membership,
                                     std::string_view controller) {
  std::vector<fs::path> folders;
  std::ifstream lines(membership);
  for (std::string text; std::getline(lines, text);) {
    const auto line = parse(text);
    if (!line || !(line->controllers.empty() || names(line->controllers, controller))) continue;
    fs::path folder = tree_of(mount, *line, controller);
    folders.push_back(folder);
    for (const fs::path& part : line->path.relative_path()) folders.push_back(folder /= part);
  }
  return folders;
}

}  // namespace troupe
