// What a reload may read once more.
#pragma once
#include <filesystem>
#include <string>
#include <system_error>
#include <tl/expected.hpp>

namespace troupe::config {

// Refuses, in one line, what to open or to read could last for ever: a pipe that nobody writes into any more,
// a terminal. /dev/null is an empty file.
inline tl::expected<void, std::string> check_read_again(const std::string& path) {
  std::error_code ignored;
  const std::filesystem::file_type type = std::filesystem::status(path, ignored).type();
  if (type == std::filesystem::file_type::fifo) return tl::unexpected(path + ": a pipe cannot be read again");
  if (type == std::filesystem::file_type::character &&
      !std::filesystem::equivalent(path, "/dev/null", ignored))
    return tl::unexpected(path + ": a device cannot be read again");
  return {};
}

}  // namespace troupe::config
