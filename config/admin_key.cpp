#include "config/admin_key.hpp"

#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <string_view>
#include <utility>

#include "config/read_again.hpp"

namespace troupe::config {
namespace {

using refused = tl::unexpected<std::string>;

constexpr std::size_t shortest_key = 16;
constexpr std::size_t longest_key = 1024;

// Editors and `echo` end a file with a new line.
std::string trimmed(std::string_view text) {
  constexpr std::string_view white = " \t\r\n";
  const std::size_t begin = text.find_first_not_of(white);
  if (begin == std::string_view::npos) return {};
  return std::string(text.substr(begin, text.find_last_not_of(white) - begin + 1));
}

// It travels in a header field.
tl::expected<std::string, std::string> checked(std::string_view text, const std::string& origin) {
  std::string key = trimmed(text);
  const auto is_visible = [](char c) { return c > ' ' && c <= '~'; };
  if (!std::ranges::all_of(key, is_visible))
    return refused(origin + ": the operators' key must be visible characters of ASCII, without spaces");
  if (key.size() < shortest_key || key.size() > longest_key)
    return refused(origin + ": the operators' key must have " + std::to_string(shortest_key) + " to " +
                   std::to_string(longest_key) + " characters, it has " + std::to_string(key.size()) +
                   "; `openssl rand -hex 32` makes one");
  return key;
}

tl::expected<admin_key, std::string> from_file(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string content(2 * longest_key, '\0');
  in.read(content.data(), static_cast<std::streamsize>(content.size()));
  if (!in && !in.eof()) return refused(path + ": cannot be read: " + std::strerror(errno != 0 ? errno : EIO));
  content.resize(static_cast<std::size_t>(in.gcount()));
  auto text = checked(content, path);
  if (!text) return refused(std::move(text.error()));
  admin_key key{std::move(*text), {}};
  struct stat status {};
  if (::stat(path.c_str(), &status) == 0 && (status.st_mode & S_IROTH) != 0)
    key.warning = path + ": everybody on this machine may read the operators' key; `chmod o-r` it";
  return key;
}

}  // namespace

admin_key_place admin_key_place_of(const loaded_settings& loaded) {
  return {origin_of(loaded, "admin_port"), loaded.admin_key, loaded.values.admin_key_file,
          origin_of(loaded, "admin_key_file"), loaded.are_read_again};
}

tl::expected<admin_key, std::string> read_admin_key(const admin_key_place& place,
                                                    const file_observer& before_file) {
  const std::string variable = admin_key_variable;
  if (!place.file.empty() && !place.variable.empty())
    return refused(place.file_origin + ", " + variable +
                   ": of two keys for operators one is not meant; set only one of them");
  if (!place.file.empty()) before_file(place.file);
  if (!place.file.empty() && place.is_read_again)
    if (auto readable = check_read_again(place.file); !readable) return refused(std::move(readable.error()));
  if (!place.file.empty()) return from_file(place.file);
  if (place.variable.empty())
    return refused(place.needed_for + ": the operators' port needs a key: set " + variable +
                   ", or --admin-key-file to a file that holds it");
  auto text = checked(place.variable, variable);
  if (!text) return refused(std::move(text.error()));
  return admin_key{std::move(*text), {}};
}

}  // namespace troupe::config
