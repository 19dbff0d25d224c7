#include "config/load.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "config/options.hpp"
#include "config/read_again.hpp"
#include "config/service_links.hpp"
#include "config/toml_file.hpp"
#include "config/values.hpp"

namespace troupe::config {
namespace {

using failure = tl::unexpected<std::string>;

constexpr std::string_view prefix = "TROUPE_";
constexpr std::string_view test_prefix = "TROUPE_TEST_";
constexpr std::string_view file_variable = "TROUPE_CONFIG";
constexpr std::size_t largest_file = 1U << 20U;

tl::expected<std::string, std::string> read_file(const std::string& path) {
  errno = 0;
  std::ifstream in(path, std::ios::binary);
  std::string content(largest_file + 1, '\0');
  if (!in || !in.read(content.data(), static_cast<std::streamsize>(content.size())).eof()) {
    if (in) return failure(path + ": a configuration file has at most 1MiB");
    return failure(path + ": cannot be read: " + std::strerror(errno != 0 ? errno : EIO));
  }
  content.resize(static_cast<std::size_t>(in.gcount()));
  return content;
}

tl::expected<void, std::string> store(loaded_settings& loaded, const option& which, const std::string& text,
                                      const std::string& origin, const std::string& message_prefix) {
  if (auto stored = assign(loaded.values, which, text); !stored)
    return failure(message_prefix + stored.error());
  std::string& known = loaded.origins[std::string(which.name)];
  if (!known.empty()) loaded.overridden.push_back(std::string(which.name) + " (" + known + ") by " + origin);
  known = origin;
  return {};
}

tl::expected<void, std::string> apply_file(loaded_settings& loaded, const std::string& path,
                                           const file_observer& before_file) {
  before_file(path);
  if (loaded.are_read_again)
    if (auto readable = check_read_again(path); !readable) return readable;
  const auto content = read_file(path);
  if (!content) return failure(content.error());
  const auto entries = parse_toml(*content, path);
  if (!entries) return failure(entries.error());
  std::map<std::string_view, std::string> seen;  // option -> where
  for (const file_entry& entry : *entries) {
    const std::string origin = path + ":" + std::to_string(entry.line);
    const option& which = *find_option(entry.name);
    if (const auto [before, first] = seen.emplace(which.name, origin); !first)
      return failure(origin + ": " + entry.name + ": is set at " + before->second + " already");
    const auto stored = store(loaded, which, entry.text, origin, origin + ": " + entry.name + ": ");
    if (!stored) return stored;
  }
  return {};
}

const option* option_of_variable(std::string_view variable) {
  for (const option& which : options()) {
    if (which.variable() == variable) return &which;
    for (const std::string_view alias : which.aliases)
      if (variable_of(alias) == variable) return &which;
  }
  return nullptr;
}

std::string unknown_variable(std::string_view variable) {
  const option* nearest = find_option(nearest_option(lower(variable.substr(prefix.size()))));
  return shown(variable) + ": unknown variable, ignored" +
         (nearest == nullptr ? std::string() : "; did you mean " + nearest->variable() + "?");
}

// Of a variable that bears a port's name.
std::string address_of_service(std::string_view variable, std::string_view text) {
  return shown(variable) + ": '" + shown(text) + "' is the address of a service named " +
         shown(service_of_port(variable)) +
         ", set by Kubernetes or Docker, and passed over; enableServiceLinks: false in the pod leaves such "
         "variables out";
}

// Under names that are not this program's own, for all that read them: whatever is said to this one alone
// wins.
tl::expected<void, std::string> apply_common_variables(loaded_settings& loaded,
                                                       const setting_sources& sources) {
  for (const option& which : options()) {
    if (which.common_variable.empty()) continue;
    for (const auto& [variable, text] : sources.environment) {
      if (variable != which.common_variable || text.empty()) continue;
      if (auto stored = store(loaded, which, text, variable, variable + ": "); !stored) return stored;
    }
  }
  return {};
}

tl::expected<void, std::string> apply_environment(loaded_settings& loaded, const setting_sources& sources) {
  std::map<std::string_view, std::string_view> seen;  // option -> variable
  for (const auto& [variable, text] : sources.environment) {
    if (!variable.starts_with(prefix) || variable.starts_with(test_prefix) || variable == file_variable)
      continue;
    if (variable == admin_key_variable) {
      loaded.admin_key = text;
      continue;
    }
    if (variable == api_key_variable) {
      loaded.api_key = text;
      continue;
    }
    const option* which = option_of_variable(variable);
    const bool is_address = variable.ends_with("_PORT") && is_address_of_service(text);
    if (which == nullptr) {
      if (!is_address && !is_named_for_service(variable))
        loaded.warnings.push_back(unknown_variable(variable));
      continue;
    }
    if (is_address) {
      loaded.warnings.push_back(address_of_service(variable, text));
      continue;
    }
    if (text.empty()) continue;
    if (const auto [before, first] = seen.emplace(which->name, variable); !first)
      return failure(variable + ": is set by " + std::string(before->second) + " already");
    if (auto stored = store(loaded, *which, text, variable, variable + ": "); !stored) return stored;
  }
  return {};
}

// Nobody knows which of its names was used.
std::string other_names(const option& which) {
  if (which.aliases.empty()) return {};
  std::string names;
  for (const std::string_view alias : which.aliases) names += (names.empty() ? "" : ", ") + flag_of(alias);
  return " (another name of it: " + names + ")";
}

tl::expected<void, std::string> apply_flags(loaded_settings& loaded, const setting_sources& sources) {
  for (const auto& [name, text] : sources.flags) {
    const option* which = find_option(name);
    if (which == nullptr) return failure("unknown option '" + shown(name) + "'");
    if (auto stored = store(loaded, *which, text, which->flag(), which->flag() + ": "); !stored)
      return failure(stored.error() + other_names(*which));
  }
  return {};
}

tl::expected<void, std::string> check_ports(const loaded_settings& loaded) {
  struct listener {
    const char* what;
    const char* name;
    std::int32_t port;
  };
  const settings& s = loaded.values;
  const std::array<listener, 4> all{{{"HTTP", "port", s.port},
                                     {"TCP", "tcp_port", s.tcp_port},
                                     {"probes", "probe_port", s.probe_port},
                                     {"operators", "admin_port", s.admin_port}}};
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t j = i + 1; j < all.size(); ++j)
      if (all[i].port > 0 && all[i].port == all[j].port)
        return failure(origin_of(loaded, all[i].name) + ", " + origin_of(loaded, all[j].name) + ": " +
                       all[i].what + " and " + all[j].what + " cannot share port " +
                       std::to_string(all[i].port));
  return {};
}

std::string file_of(const setting_sources& sources) {
  if (!sources.file.empty()) return sources.file;
  for (const auto& [variable, text] : sources.environment) {
    if (variable == file_variable) return text;
  }
  return {};
}

}  // namespace

std::string origin_of(const loaded_settings& loaded, std::string_view name) {
  const auto found = loaded.origins.find(name);
  return found == loaded.origins.end() ? std::string(name) + " (default)" : found->second;
}

tl::expected<loaded_settings, std::string> load_settings(const setting_sources& sources,
                                                         const file_observer& before_file) {
  loaded_settings loaded;
  loaded.are_read_again = sources.are_read_again;
  if (auto applied = apply_common_variables(loaded, sources); !applied) return failure(applied.error());
  if (const std::string file = file_of(sources); !file.empty()) {
    if (auto applied = apply_file(loaded, file, before_file); !applied) return failure(applied.error());
  }
  if (auto applied = apply_environment(loaded, sources); !applied) return failure(applied.error());
  if (auto applied = apply_flags(loaded, sources); !applied) return failure(applied.error());
  if (auto checked = check_ports(loaded); !checked) return failure(checked.error());
  return loaded;
}

}  // namespace troupe::config
