// Where the tuning of earlier starts lies.
#pragma once
#include <filesystem>
#include <string>

namespace troupe {

// A file, or a folder that has one for each machine and model; neither: nothing is kept.
struct tuning_place {
  std::filesystem::path file;
  std::filesystem::path folder;
};

// `option`: --tuning-file. Empty: the folder troupe in $XDG_CACHE_HOME or ~/.cache, where there is one.
tuning_place find_tuning(const std::string& option);

}  // namespace troupe
