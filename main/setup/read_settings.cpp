#include "main/setup/read_settings.hpp"

#include <unistd.h>

#include <cstddef>
#include <string_view>
#include <utility>

#include "config/combinations.hpp"
#include "main/setup/checked_values.hpp"
#include "main/setup/choose_device.hpp"
#include "main/setup/cuda_support.hpp"
#include "main/setup/trace_options.hpp"

namespace troupe {

std::vector<std::pair<std::string, std::string>> environment_here() {
  std::vector<std::pair<std::string, std::string>> variables;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    if (const std::size_t equals = text.find('='); equals != std::string_view::npos)
      variables.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return variables;
}

tl::expected<config::loaded_settings, std::string> read_settings(const config::setting_sources& sources,
                                                                 const config::file_observer& before_source) {
  auto loaded = config::load_settings(sources, before_source);
  if (!loaded) return loaded;
  if (sources.are_read_again)
    keep_device(*loaded, sources.device_in_use);
  else if (auto chosen = choose_device(*loaded, find_cuda_support()); !chosen)
    return tl::unexpected(chosen.error());
  pass_over_foreign_traces(*loaded);
  if (auto checked = check_values(*loaded, before_source); !checked) return tl::unexpected(checked.error());
  for (std::string& warning : config::warnings_about(*loaded)) loaded->warnings.push_back(std::move(warning));
  return loaded;
}

}  // namespace troupe
