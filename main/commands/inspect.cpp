// troupe inspect: what a model file holds.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "config/flags.hpp"
#include "main/commands/commands.hpp"
#include "main/exit_code.hpp"
#include "main/load.hpp"
#include "main/setup/default_model.hpp"
#include "runtime/gguf/gguf.hpp"
#include "runtime/model/describe.hpp"

namespace troupe::cli {
namespace {

struct inspect_options {
  config::setting_sources sources;
  std::string file;  // empty: the settings name the model
};

int inspect(const inspect_options& options) {
  std::string model = options.file;
  if (model.empty()) {
    const auto loaded = load(options.sources);
    if (!loaded) return loaded.error();
    model = loaded->values.model;
  }
  const auto path = find_model(model);
  if (!path) return report(path.error());
  const auto file = gguf::file::open(*path);
  if (!file) return report(file.error());
  std::fputs(describe(*file).c_str(), stdout);
  return exit_ok;
}

}  // namespace

void add_inspect(CLI::App& app, command_body& chosen) {
  const auto options = std::make_shared<inspect_options>();
  CLI::App* command = app.add_subcommand("inspect", "Print the metadata and the tensors of a model file");
  CLI::Option* const file =
      command->add_option("file", options->file, "A GGUF file; nothing: the model that would be served")
          ->type_name("FILE");
  config::add_flags(*command, {config::option_group::model}, options->sources);
  command->get_option("--model")->excludes(file);
  command->footer("\nExample:\n  troupe inspect models/SmolLM2-135M-Instruct.Q4_1.gguf");
  command->callback([options, &chosen] { chosen = [options] { return inspect(*options); }; });
}

}  // namespace troupe::cli
