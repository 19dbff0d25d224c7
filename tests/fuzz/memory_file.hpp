// Bytes as a file that only this process sees, for what reads files by their path.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace troupe::fuzz {

class memory_file {
 public:
  explicit memory_file(std::string_view content);
  memory_file(const memory_file&) = delete;
  memory_file& operator=(const memory_file&) = delete;
  ~memory_file();
  const std::string& path() const { return path_; }

 private:
  int descriptor_;
  std::string path_;
};

}  // namespace troupe::fuzz
