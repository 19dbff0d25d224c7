// What a reload may read once more.
#pragma once
#include <filesystem>
#include <string>
#include <system_error>
#include <tl/expected.hpp>

namespace troupe::config {

// Refuses, in one line, what to open could last for ever: a pipe that nobody writes into any more.
inline tl::expected<void, std::string> check_read_again(const std::string& path) {
  std::error_code ignored;
  if (std::filesystem::status(path, ignored).type() != std::filesystem::file_type::fifo) return {};
  return tl::unexpected(path + ": a pipe cannot be read again");
}

}  // namespace troupe::config
