// troupe config: the settings in force and where each comes from, or the table of all options.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>

#include "config/flags.hpp"
#include "config/reference.hpp"
#include "main/commands/commands.hpp"
#include "main/exit_code.hpp"
#include "main/load.hpp"

namespace troupe::cli {
namespace {

struct config_options {
  config::setting_sources sources;
  bool markdown = false;
};

int show_config(const config_options& options) {
  if (options.markdown) {
    std::fputs(config::options_markdown().c_str(), stdout);
    return exit_ok;
  }
  const auto loaded = load(options.sources);
  if (!loaded) return loaded.error();
  std::fputs(config::settings_toml(*loaded).c_str(), stdout);
  return exit_ok;
}

}  // namespace

void add_config(CLI::App& app, command_body& chosen) {
  const auto options = std::make_shared<config_options>();
  CLI::App* command = app.add_subcommand("config", "Print the settings in force, as TOML with their origins");
  command->add_flag("--markdown", options->markdown, "Print the table of all options instead");
  using enum config::option_group;
  config::add_flags(*command, {model, engine, bucketing, server, logging}, options->sources);
  command->footer(
      "\nExamples:\n"
      "  troupe config > troupe.toml              a file to start from\n"
      "  troupe config --config troupe.toml       check a file");
  command->callback([options, &chosen] { chosen = [options] { return show_config(*options); }; });
}

}  // namespace troupe::cli
