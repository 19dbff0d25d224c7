// The option table for people.
#pragma once
#include <string>

#include "config/load.hpp"

namespace troupe::config {

// A Markdown table of every option: flag, variable, default, range, meaning. README.md holds it verbatim.
std::string options_markdown();
// A TOML file that sets every option to its value here, each with its origin in a comment.
std::string settings_toml(const loaded_settings& loaded);

}  // namespace troupe::config
