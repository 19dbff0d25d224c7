// The option table as CLI11 flags, so that --help and parsing follow from it.
#pragma once
#include <initializer_list>
#include <string_view>

#include "config/load.hpp"
#include "config/options.hpp"

namespace CLI {
class App;
}

namespace troupe::config {

// Adds --config and a flag for every option of `groups`. What the command line gives is written to `sources`,
// which must outlive the parse; values are checked by load_settings().
void add_flags(CLI::App& app, std::initializer_list<option_group> groups, setting_sources& sources);

// Adds flags for these options alone, by name, without --config.
void add_flags(CLI::App& app, std::initializer_list<std::string_view> names, setting_sources& sources);

}  // namespace troupe::config
