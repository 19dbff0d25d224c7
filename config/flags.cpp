#include "config/flags.hpp"

#include <CLI/CLI.hpp>
#include <algorithm>

namespace troupe::config {
namespace {

const char* heading(option_group group) {
  switch (group) {
    case option_group::model:
      return "Model";
    case option_group::engine:
      return "Engine";
    case option_group::bucketing:
      return "Buckets and warm-up";
    case option_group::server:
      return "Server";
    case option_group::logging:
      return "Logging";
  }
  return "";
}

// "--name" and its aliases; of a switch also "!--no-name", which turns it off.
std::string spellings(const option& which) {
  std::string text = which.flag();
  for (const std::string_view alias : which.aliases) text += "," + flag_of(alias);
  if (which.is_switch()) text += ",!" + flag_of("no_" + std::string(which.name));
  return text;
}

// CLI11 reads a flag's value only after its checks, and fails without saying which flag it was.
CLI::Validator truth_value_of(const std::string& flag) {
  const auto check = [flag](const std::string& text) {
    for (const char* each : {"true", "false", "on", "off", "yes", "no", "1", "0"}) {
      if (text == each) return std::string();
    }
    // Behind --no-... a number comes with its sign turned.
    const std::string given = text.starts_with('-') ? std::string() : ", got '" + text + "'";
    throw no_truth_value(flag + ": expected true or false" + given);
  };
  return {check, ""};
}

void add_flag(CLI::App& app, const option& which, setting_sources& sources) {
  const std::string value = value_text(settings{}, which);
  const auto keep = [&sources, name = std::string(which.name)](const std::string& text) {
    sources.flags[name] = text;
  };
  if (which.is_switch()) {
    app.add_flag_function(
           spellings(which), [keep](std::int64_t on) { keep(on > 0 ? "true" : "false"); },
           std::string(which.help) + " (=" + value + ")")
        ->multi_option_policy(CLI::MultiOptionPolicy::Throw)  // else the signs of several would be added up
        ->check(truth_value_of(which.flag()))
        ->group(heading(which.group));
  } else {
    app.add_option_function<std::string>(spellings(which), keep, std::string(which.help))
        ->type_name(which.value_name())
        ->default_str(value)
        ->group(heading(which.group));
  }
}

}  // namespace

void add_flags(CLI::App& app, std::initializer_list<option_group> groups, setting_sources& sources) {
  app.add_option("--config", sources.file, "TOML file with any of these options (also: TROUPE_CONFIG)")
      ->type_name("FILE")
      ->group("Configuration");
  for (const option& which : options())
    if (std::find(groups.begin(), groups.end(), which.group) != groups.end()) add_flag(app, which, sources);
}

void add_flags(CLI::App& app, std::initializer_list<std::string_view> names, setting_sources& sources) {
  for (const std::string_view name : names)
    if (const option* which = find_option(name)) add_flag(app, *which, sources);
}

}  // namespace troupe::config
