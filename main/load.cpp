#include "main/load.hpp"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include "main/exit_code.hpp"
#include "main/setup/read_settings.hpp"

namespace troupe::cli {

tl::expected<config::loaded_settings, std::string> read_settings_here(
    config::setting_sources sources, const config::file_observer& before_source) {
  std::ranges::move(environment_here(), std::back_inserter(sources.environment));
  return read_settings(sources, before_source);
}

tl::expected<config::loaded_settings, int> load_with_warnings(config::setting_sources sources) {
  auto loaded = read_settings_here(std::move(sources));
  if (!loaded) {
    complain(loaded.error());
    return tl::unexpected<int>(exit_configuration);
  }
  return std::move(*loaded);
}

tl::expected<config::loaded_settings, int> load(config::setting_sources sources) {
  auto loaded = load_with_warnings(std::move(sources));
  if (!loaded) return loaded;
  for (const std::string& warning : loaded->warnings) warn(warning);
  return loaded;
}

error with_origin(const config::loaded_settings& loaded, error why) {
  if (const auto origin = loaded.origins.find(why.param); origin != loaded.origins.end())
    why.message = origin->second + ": " + why.message;
  return why;
}

}  // namespace troupe::cli
