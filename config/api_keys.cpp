#include "config/api_keys.hpp"

#include <string_view>
#include <utility>

#include "config/key_text.hpp"
#include "config/read_again.hpp"

namespace troupe::config {
namespace {

using refused = tl::unexpected<std::string>;

constexpr key_kind clients{.name = "a client's key", .shortest = 8};
constexpr std::size_t most_keys = 1000;
constexpr std::size_t largest_file = most_keys * (longest_key + 2);

tl::expected<api_keys, std::string> keys_in_file(const std::string& path) {
  auto file = read_key_file(path, largest_file + 1, clients);
  if (!file) return refused(std::move(file.error()));
  if (file->content.size() > largest_file)
    return refused(path + ": a file of keys has at most " + std::to_string(largest_file) + " bytes");
  api_keys keys{.texts = {}, .warning = std::move(file->warning)};
  std::string_view rest = file->content;
  for (std::size_t number = 1; !rest.empty(); ++number) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(line.size() < rest.size() ? line.size() + 1 : line.size());
    if (trimmed(line).empty() || trimmed(line).starts_with('#')) continue;
    auto key = check_key(line, clients, path + ":" + std::to_string(number));
    if (!key) return refused(std::move(key.error()));
    keys.texts.push_back(std::move(*key));
  }
  if (keys.texts.empty())
    return refused(path + ": holds no key, with which nobody could be served; one stands on each line");
  if (keys.texts.size() > most_keys)
    return refused(path + ": holds more than " + std::to_string(most_keys) + " keys");
  return keys;
}

}  // namespace

tl::expected<api_keys, std::string> read_api_keys(const loaded_settings& loaded,
                                                  const file_observer& before_file) {
  const std::string& path = loaded.values.api_key_file;
  const std::string variable = api_key_variable;
  if (path.empty() && loaded.origins.contains("api_key_file"))
    return refused(origin_of(loaded, "api_key_file") + ": names no file, with which anybody would be served");
  if (!path.empty() && loaded.api_key)
    return refused(origin_of(loaded, "api_key_file") + ", " + variable +
                   ": keys in two places, of which one is not meant; set only one of them");
  if (!path.empty()) {
    before_file(path);
    if (loaded.are_read_again)
      if (auto readable = check_read_again(path); !readable) return refused(std::move(readable.error()));
    return keys_in_file(path);
  }
  if (!loaded.api_key) return api_keys{};
  auto key = check_key(*loaded.api_key, clients, variable);
  if (!key) return refused(std::move(key.error()));
  return api_keys{.texts = {std::move(*key)}, .warning = {}};
}

}  // namespace troupe::config
