// The operators' key: where it comes from, and what it must be.
#pragma once
#include <string>
#include <tl/expected.hpp>

#include "config/load.hpp"

namespace troupe::config {

struct admin_key {
  std::string text;
  std::string warning;  // that others can read the file; else empty
};

// The text of admin_key_file, or of TROUPE_ADMIN_KEY, without white space around it: 16 to 1024 visible
// characters of ASCII. The error is one line that begins with its origin; it never holds any of the key.
tl::expected<admin_key, std::string> read_admin_key(const loaded_settings& loaded);

}  // namespace troupe::config
