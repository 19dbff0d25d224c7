// Small helpers of the configuration's tests.
#pragma once
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "config/load.hpp"

namespace troupe::config {

// A configuration file that lives as long as the object.
class temporary_file {
 public:
  explicit temporary_file(const std::string& content) {
    std::string pattern = (std::filesystem::temp_directory_path() / "troupe-config-XXXXXX").string();
    const int descriptor = mkstemp(pattern.data());
    if (descriptor >= 0) close(descriptor);
    path_ = pattern;
    std::ofstream(path_, std::ios::binary) << content;
  }
  ~temporary_file() { std::filesystem::remove(path_); }
  temporary_file(const temporary_file&) = delete;
  temporary_file& operator=(const temporary_file&) = delete;
  const std::string& path() const { return path_; }

 private:
  std::string path_;
};

// The error of loading `content` as a file, with the path cut off; empty where it loads.
inline std::string file_error(const std::string& content) {
  const temporary_file file(content);
  const auto loaded = load_settings({.flags = {}, .environment = {}, .file = file.path()});
  if (loaded) return {};
  const std::string& message = loaded.error();
  return message.starts_with(file.path()) ? message.substr(file.path().size()) : "no path in: " + message;
}

}  // namespace troupe::config
