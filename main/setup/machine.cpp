#include "main/setup/machine.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <sstream>
#include <string_view>

namespace troupe {
namespace {

// The value of the first line of /proc/cpuinfo that begins with `key`.
std::string cpu_field(std::string_view key) {
  std::ifstream in("/proc/cpuinfo");
  for (std::string line; std::getline(in, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with(key) && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

}  // namespace

std::string cpu_name() {
  const std::string name = cpu_field("model name");
  return name.empty() ? "unknown" : name;
}

std::vector<std::string> cpu_flags() {
  static constexpr std::array<std::string_view, 11> relevant{
      "avx2",        "fma",      "f16c",     "avx512f",  "avx512bw", "avx512_vnni",
      "avx512_bf16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16"};
  std::vector<std::string> found;
  std::istringstream flags(cpu_field("flags"));
  for (std::string flag; flags >> flag;) {
    if (std::find(relevant.begin(), relevant.end(), flag) != relevant.end()) found.push_back(flag);
  }
  return found;
}

}  // namespace troupe
