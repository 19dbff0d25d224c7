#include "main/service/file_contents.hpp"

#include <functional>

#include "runtime/bucketing/text_file.hpp"

namespace troupe::cli {

file_contents contents_of_files(const config::settings& settings, const config::file_observer& before_file) {
  constexpr std::size_t most_bytes = std::size_t{16} << 20U;  // the start has refused larger ones
  file_contents all;
  const std::pair<const char*, const std::string&> named[] = {
      {"chat_template", settings.chat_template}, {"bucketing_from_file", settings.bucketing_from_file}};
  for (const auto& [option, path] : named) {
    if (path.empty()) continue;
    before_file(path);
    if (const auto text = read_text_file(path, most_bytes))
      all[option] = {path, std::hash<std::string>{}(*text)};
  }
  return all;
}

std::vector<std::pair<std::string, std::string>> files_changed(const file_contents& before,
                                                               const file_contents& now) {
  std::vector<std::pair<std::string, std::string>> changed;
  for (const auto& [option, file] : now) {
    const auto found = before.find(option);
    const bool is_same_place = found != before.end() && found->second.path == file.path;
    if (is_same_place && found->second.digest != file.digest) changed.emplace_back(option, file.path);
  }
  return changed;
}

}  // namespace troupe::cli
