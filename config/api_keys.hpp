// The clients' keys: where they come from, and what they must be.
#pragma once
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "config/load.hpp"

namespace troupe::config {

struct api_keys {
  std::vector<std::string> texts;  // each will do; empty: nobody needs one
  std::string warning;             // that others can read the file; else empty
};

// The lines of the file that `api_key_file` names, but for empty ones and those that begin with '#', or the
// one of the variable: 8 to 1024 visible characters of ASCII each, up to 1000 of them. None where neither is
// set; errors where both are, and where one is that is empty or holds no key: a line that begins with its
// origin and never holds any of a key.
tl::expected<api_keys, std::string> read_api_keys(
    const loaded_settings& loaded, const file_observer& before_file = [](const std::string&) {});

}  // namespace troupe::config
