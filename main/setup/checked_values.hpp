// Settings whose text has a form of its own, checked before anything is loaded.
#pragma once
#include <string>

#include <tl/expected.hpp>

#include "config/load.hpp"

namespace troupe {

// The first of them that nothing can be made of, in one line that begins with its origin:
// "troupe.toml:3: speculative_config: there is no field ...".
tl::expected<void, std::string> check_values(
    const config::loaded_settings& loaded,
    const config::file_observer& before_file = [](const std::string&) {});

}  // namespace troupe
