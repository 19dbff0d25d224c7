// troupe inspect: what a model file holds.
#include <CLI/CLI.hpp>
#include <cstdio>
#include <memory>
#include <string>

#include "main/commands.hpp"
#include "main/exit_code.hpp"
#include "main/setup/default_model.hpp"
#include "runtime/gguf/gguf.hpp"
#include "runtime/model/describe.hpp"

namespace troupe::cli {
namespace {

int inspect(const std::string& model) {
  const auto path = find_model(model);
  if (!path) return report(path.error());
  const auto file = gguf::file::open(*path);
  if (!file) return report(file.error());
  std::fputs(describe(*file).c_str(), stdout);
  return exit_ok;
}

}  // namespace

void add_inspect(CLI::App& app, command_body& chosen) {
  const auto path = std::make_shared<std::string>();
  CLI::App* command = app.add_subcommand("inspect", "Print the metadata and the tensors of a model file");
  command->add_option("model", *path, "A GGUF file; nothing: the default model")->type_name("MODEL");
  command->footer("\nExample:\n  troupe inspect models/SmolLM2-135M-Instruct.Q4_1.gguf");
  command->callback([path, &chosen] { chosen = [path] { return inspect(*path); }; });
}

}  // namespace troupe::cli
