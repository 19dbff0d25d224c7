// troupe runner-process: what `troupe serve` starts to run the model's steps; of no use to anybody else.
#include <CLI/CLI.hpp>
#include <memory>

#include "actors/chaos.hpp"
#include "main/commands.hpp"
#include "main/cuda_support.hpp"
#include "main/exit_code.hpp"
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

int host(pid_t parent, int num_descriptors) {
  const auto hosted =
      host_executors(parent, num_descriptors, [](const executor_setup& setup, std::span<const int> files) {
        auto opened = open_executor(setup, files, find_cuda_support());
        return opened
                   ? result<std::unique_ptr<executor>>(std::make_unique<exposed_executor>(std::move(*opened)))
                   : std::move(opened);
      });
  complain(hosted.error().message);
  return exit_failure;
}

}  // namespace

void add_runner_process(CLI::App& app, command_body& chosen) {
  const auto parent = std::make_shared<pid_t>(0);
  const auto num_descriptors = std::make_shared<int>(0);
  CLI::App* command = app.add_subcommand("runner-process", "Runs the steps of a service that has started it");
  command->group("");  // not shown
  command->add_option("descriptors", *num_descriptors, "How many it inherits")
      ->required()
      ->check(CLI::Range(0, 64));
  command->add_option("parent", *parent, "The service's process")->required();
  command->callback([parent, num_descriptors, &chosen] {
    chosen = [parent, num_descriptors] { return host(*parent, *num_descriptors); };
  });
}

}  // namespace troupe::cli
