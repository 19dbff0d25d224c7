// What the files say that settings name and that only the start reads: whoever changes one wants to hear that
// a reload does not take it up.
#pragma once
#include <cstddef>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "config/load.hpp"

namespace troupe::cli {

// By the option that names it: where it lies, and what tells its contents from others.
struct named_contents {
  std::string path;
  std::size_t digest = 0;
};
using file_contents = std::map<std::string, named_contents, std::less<>>;

// Of files that can be read. `before_file` hears of each before it is opened.
file_contents contents_of_files(
    const config::settings& settings, const config::file_observer& before_file = [](const std::string&) {});

// The options, with the paths, of the files that lie where they lay and say something else.
std::vector<std::pair<std::string, std::string>> files_changed(const file_contents& before,
                                                               const file_contents& now);

}  // namespace troupe::cli
