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

// Where a key may stand.
struct admin_key_place {
  std::string needed_for;      // "--admin-port"
  std::string variable;        // the text of admin_key_variable; empty: it is not set
  std::string file;            // its path; empty: none
  std::string file_origin;     // who names the file: "--admin-key-file", "troupe.toml:7"
  bool is_read_again = false;  // by a reload, which cannot read a pipe
};
admin_key_place admin_key_place_of(const loaded_settings& loaded);

// The text of the file, or of the variable, without white space around it: 16 to 1024 visible characters of
// ASCII. The error is one line that begins with its origin; it never holds any of the key.
tl::expected<admin_key, std::string> read_admin_key(
    const admin_key_place& place, const file_observer& before_file = [](const std::string&) {});

}  // namespace troupe::config
