#include "main/usage.hpp"

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "config/spelling.hpp"
#include "main/exit_code.hpp"

namespace troupe::cli {
namespace {

bool is_flag(const std::string& argument) {
  return argument.starts_with('-') && argument.find_first_not_of('-') != std::string::npos;
}

// Without their dashes.
std::vector<std::string_view> flags_of(const CLI::App& command) {
  std::vector<std::string_view> names;
  for (const CLI::Option* option : command.get_options())
    for (const std::string& name : option->get_lnames()) names.emplace_back(name);
  return names;
}

// None where one was chosen.
std::vector<std::string_view> subcommands_of(const CLI::App& command) {
  std::vector<std::string_view> names;
  for (const CLI::App* each : command.get_subcommands([](const CLI::App*) { return true; }))
    names.emplace_back(each->get_name());
  return names;
}

struct named_command {
  const CLI::App* app = nullptr;
  std::string path = {};  // "troupe bench offline"
};

named_command chosen_command(const CLI::App& app) {
  named_command chosen{&app, app.get_name()};
  while (!chosen.app->get_subcommands().empty()) {
    chosen.app = chosen.app->get_subcommands().front();
    chosen.path += " " + chosen.app->get_name();
  }
  return chosen;
}

}  // namespace

std::string failure_text(const CLI::App* app, const CLI::Error& failure) {
  const auto [command, path] = chosen_command(*app);
  return path + ": " + failure.what() + "; see " + path + " --help\n";
}

void complain_of_extras(const CLI::App& app) {
  const auto [command, path] = chosen_command(app);
  const std::vector<std::string> extras = app.remaining(true);
  const auto flag = std::find_if(extras.begin(), extras.end(), is_flag);
  std::string what;
  std::string meant;
  if (flag != extras.end()) {
    const std::string name = flag->substr(0, flag->find('='));
    what = "unknown option '" + name + "'";
    meant =
        config::nearest_name(std::string_view(name).substr(name.find_first_not_of('-')), flags_of(*command));
    if (!meant.empty()) meant.insert(0, "--");
  } else {
    const std::string name = extras.empty() ? std::string() : extras.front();
    const auto names = subcommands_of(*command);
    what = (names.empty() ? "unexpected argument '" : "unknown subcommand '") + name + "'";
    meant = config::nearest_name(name, names);
  }
  const std::string hint = meant.empty() ? "see " + path + " --help" : "did you mean '" + meant + "'?";
  print_error(path + ": " + what + "; " + hint);
}

}  // namespace troupe::cli
