// The option table as CLI11 flags, so that --help and parsing follow from it.
#pragma once
#include <initializer_list>
#include <stdexcept>
#include <string_view>

#include "config/load.hpp"
#include "config/options.hpp"

namespace CLI {
class App;
}

namespace troupe::config {

// The parse ends with it where a switch is given another value than true or false.
class no_truth_value : public std::invalid_argument {
  using std::invalid_argument::invalid_argument;
};

// Adds --config and a flag for every option of `groups`. What the command line gives is written to `sources`,
// which must outlive the parse; all other values are checked by load_settings().
void add_flags(CLI::App& app, std::initializer_list<option_group> groups, setting_sources& sources);

// Adds flags for these options alone, by name, without --config.
void add_flags(CLI::App& app, std::initializer_list<std::string_view> names, setting_sources& sources);

}  // namespace troupe::config
