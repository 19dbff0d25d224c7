// A TOML file as assignments of option names to text.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace troupe::config {

struct file_entry {
  std::string name;
  std::string text;    // as assign() reads it
  std::uint32_t line;  // of the value
};

// The keys of `content` in the order of their lines. Every key is known and its value is of the option's
// kind; ranges are not checked here. Errors begin with "path:line: ".
tl::expected<std::vector<file_entry>, std::string> parse_toml(std::string_view content,
                                                              const std::string& path);

}  // namespace troupe::config
