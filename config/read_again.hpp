// What a reload may read once more.
#pragma once
#include <filesystem>
#include <string>
#include <system_error>

namespace troupe::config {

// False where to open it could last for ever: a pipe that nobody writes into any more.
inline bool can_be_read_again(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::status(path, ignored).type() != std::filesystem::file_type::fifo;
}

}  // namespace troupe::config
