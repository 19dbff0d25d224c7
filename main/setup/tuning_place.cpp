#include "main/setup/tuning_place.hpp"

#include <cstdlib>

namespace troupe {

tuning_place find_tuning(const std::string& option) {
  if (option == "off") return {};
  if (!option.empty()) return {option, {}};
  // As the XDG base directory specification has it, a relative path is no place.
  if (const char* cache = std::getenv("XDG_CACHE_HOME"); cache != nullptr && *cache == '/')
    return {{}, std::filesystem::path(cache) / "troupe"};
  if (const char* home = std::getenv("HOME"); home != nullptr && *home == '/')
    return {{}, std::filesystem::path(home) / ".cache" / "troupe"};
  return {};
}

}  // namespace troupe
