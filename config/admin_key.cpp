#include "config/admin_key.hpp"

#include <utility>

#include "config/key_text.hpp"
#include "config/read_again.hpp"

namespace troupe::config {
namespace {

using refused = tl::unexpected<std::string>;

constexpr key_kind operators{.name = "the operators' key", .shortest = 16};

tl::expected<admin_key, std::string> from_file(const std::string& path) {
  auto file = read_key_file(path, 2 * longest_key, operators);
  if (!file) return refused(std::move(file.error()));
  auto text = check_key(file->content, operators, path);
  if (!text) return refused(std::move(text.error()));
  return admin_key{std::move(*text), std::move(file->warning)};
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
  auto text = check_key(place.variable, operators, variable);
  if (!text) return refused(std::move(text.error()));
  return admin_key{std::move(*text), {}};
}

}  // namespace troupe::config
