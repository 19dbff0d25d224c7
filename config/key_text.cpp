#include "config/key_text.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <utility>

namespace troupe::config {

using refused = tl::unexpected<std::string>;

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view white = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(white);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(white) - begin + 1);
}

tl::expected<std::string, std::string> check_key(std::string_view text, const key_kind& kind,
                                                 const std::string& origin) {
  const std::string_view key = trimmed(text);
  const std::string whose = origin + ": " + std::string(kind.name);
  const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
  if (!std::ranges::all_of(key, is_visible))
    return refused(whose + " must be visible characters of ASCII, without spaces");
  if (key.size() < kind.shortest || key.size() > longest_key)
    return refused(whose + " must have " + std::to_string(kind.shortest) + " to " +
                   std::to_string(longest_key) + " characters, it has " + std::to_string(key.size()) +
                   "; `openssl rand -hex 32` makes one");
  return std::string(key);
}

tl::expected<key_file, std::string> read_key_file(const std::string& path, std::size_t most_bytes,
                                                  const key_kind& kind) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  key_file file{.content = std::string(most_bytes, '\0'), .warning = {}};
  in.read(file.content.data(), static_cast<std::streamsize>(most_bytes));
  if (!in && !in.eof()) return refused(path + ": cannot be read: " + std::strerror(errno != 0 ? errno : EIO));
  file.content.resize(static_cast<std::size_t>(in.gcount()));
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0)
    file.warning =
        path + ": everybody on this machine may read " + std::string(kind.name) + "; `chmod o-r` it";
  return file;
}

}  // namespace troupe::config
