// From the command line to settings; errors are printed and become exit codes.
#pragma once
#include <string>
#include <tl/expected.hpp>

#include "config/load.hpp"
#include "runtime/result.hpp"

namespace troupe::cli {

// As read_settings(); the process's environment is filled in.
tl::expected<config::loaded_settings, std::string> read_settings_here(
    config::setting_sources sources, const config::file_observer& before_source = [](const std::string&) {});
// Reads all sources; the process's environment is filled in. Prints an error: then the exit code. Warnings
// are left to the caller, who may have a log for them.
tl::expected<config::loaded_settings, int> load_with_warnings(config::setting_sources sources);
// The same; warnings are printed.
tl::expected<config::loaded_settings, int> load(config::setting_sources sources);

// The error with the file and line, variable or flag that its setting comes from; as it is where it names
// none or nobody has set it.
error with_origin(const config::loaded_settings& loaded, error why);

}  // namespace troupe::cli
