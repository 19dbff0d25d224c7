// Settings as `troupe serve` reads them, for it and for programs that embed the company.
#pragma once
#include <string>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "config/load.hpp"

namespace troupe {

// The variables of this process, for setting_sources::environment.
std::vector<std::pair<std::string, std::string>> environment_here();

// load_settings(), the device (looked for, or kept where they are read again) and what is usual there
// (choose_device.hpp), and a look at every value whose text has a form of its own. The error is one line that
// begins with its origin, as there. `before_source` hears of each file.
tl::expected<config::loaded_settings, std::string> read_settings(
    const config::setting_sources& sources,
    const config::file_observer& before_source = [](const std::string&) {});

}  // namespace troupe
