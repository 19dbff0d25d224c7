// troupe runner-process: what `troupe serve` starts to run the model's steps; of no use to anybody else.
#include <spdlog/spdlog.h>

#include <CLI/CLI.hpp>
#include <memory>
#include <string>
#include <utility>

#include "actors/chaos.hpp"
#include "config/settings.hpp"
#include "main/commands/commands.hpp"
#include "main/exit_code.hpp"
#include "main/log/logging.hpp"
#include "main/setup/cuda_support.hpp"
#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/isolation/executor_host.hpp"

namespace troupe::cli {
namespace {

// Its steps meet the faults that TROUPE_CHAOS asks for: those of the role `runner_process`.
class exposed_executor final : public forwarding_executor {
 public:
  using forwarding_executor::forwarding_executor;
  void forward(const device_batch& batch) override {
    chaos::meet_message("runner_process", "step");
    chaos::meet_tokens(batch.tokens);
    forwarding_executor::forward(batch);
  }
};

// What it has to say is in its service's log.
int host(pid_t parent, int num_descriptors, const std::string& log_format) {
  config::settings logging;
  logging.log_format = log_format;
  start_logging(logging);
  complain_in_log();
  const auto open = [](const executor_setup& setup, std::span<const int> files) {
    auto opened = open_executor(setup, files, find_cuda_support());
    return opened ? result<std::unique_ptr<executor>>(std::make_unique<exposed_executor>(std::move(*opened)))
                  : std::move(opened);
  };
  const auto hosted = host_executors(parent, num_descriptors, open,
                                     [](const std::string& line) { spdlog::error("{}", line); });
  complain(hosted.error().message);
  return exit_failure;
}

}  // namespace

void add_runner_process(CLI::App& app, command_body& chosen) {
  const auto parent = std::make_shared<pid_t>(0);
  const auto num_descriptors = std::make_shared<int>(0);
  const auto log_format = std::make_shared<std::string>("auto");
  CLI::App* command = app.add_subcommand("runner-process", "Runs the steps of a service that has started it");
  command->group("");  // not shown
  command->add_option("descriptors", *num_descriptors, "How many it inherits")
      ->required()
      ->check(CLI::Range(0, 64));
  command->add_option("parent", *parent, "The service's process")->required();
  command->add_option("--log-format", *log_format, "As the service has it");
  command->callback([parent, num_descriptors, log_format, &chosen] {
    chosen = [parent, num_descriptors, log_format] { return host(*parent, *num_descriptors, *log_format); };
  });
}

}  // namespace troupe::cli
