// Flags over environment over file over what other programs read too over defaults, with the origin of every
// value.
#pragma once
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "config/settings.hpp"

namespace troupe::config {

// Has the operators' key, where no file has it.
inline constexpr const char* admin_key_variable = "TROUPE_ADMIN_KEY";
// Has the clients' key, likewise.
inline constexpr const char* api_key_variable = "TROUPE_API_KEY";

// Hears the path of each file before it is opened. It is called during the call that it is given to, no
// later.
using file_observer = std::function<void(const std::string& path)>;

struct setting_sources {
  std::map<std::string, std::string, std::less<>> flags;  // option name -> text as given
  std::vector<std::pair<std::string, std::string>> environment;
  std::string file;                // --config; empty: TROUPE_CONFIG, else none
  bool are_read_again = false;     // by a reload, which cannot read a pipe
  std::string device_in_use = {};  // then: what was chosen where `device` says auto
};

struct loaded_settings {
  settings values;
  std::map<std::string, std::string, std::less<>>
      origins;                          // option name -> "file:3", "TROUPE_PORT", "--port"
  std::vector<std::string> overridden;  // "port (troupe.toml:3) by TROUPE_PORT", weakest first
  std::vector<std::string> warnings;    // unknown TROUPE_* variables, and what is passed over
  std::vector<std::string> notes;       // of choices that were made for whoever made none
  std::string admin_key;                // of that variable; not among the settings, which are printed
  std::optional<std::string> api_key;   // likewise; nothing: it is not set
  bool are_read_again = false;          // as in setting_sources
};

// Where the option's value comes from, for messages.
std::string origin_of(const loaded_settings& loaded, std::string_view name);

// The error is one line that begins with its origin: "troupe.toml:3: unknown key 'prot'; did you mean
// 'port'?". Every source is checked whole, also values that a stronger source replaces. An empty variable
// counts as unset.
tl::expected<loaded_settings, std::string> load_settings(
    const setting_sources& sources, const file_observer& before_file = [](const std::string&) {});

}  // namespace troupe::config
