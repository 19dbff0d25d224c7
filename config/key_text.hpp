// What the texts of keys have in common, whoever's they are. No error holds any of a key.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

namespace troupe::config {

inline constexpr std::size_t longest_key = 1024;

// Whose a key is, and how short it may be.
struct key_kind {
  std::string_view name;  // "the operators' key"
  std::size_t shortest = 0;
};

// Without white space around it: editors and `echo` end a file with a new line.
std::string_view trimmed(std::string_view text);

// `text`, trimmed: visible characters of ASCII, since it travels in a header field. The error begins with
// `origin`.
tl::expected<std::string, std::string> check_key(std::string_view text, const key_kind& kind,
                                                 const std::string& origin);

struct key_file {
  std::string content;
  std::string warning;  // that others can read it; else empty
};
// At most `most_bytes` of the file. The error begins with the path.
tl::expected<key_file, std::string> read_key_file(const std::string& path, std::size_t most_bytes,
                                                  const key_kind& kind);

}  // namespace troupe::config
