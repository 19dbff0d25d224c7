// troupe bench scheduler: what a step costs beside the model.
#include <spdlog/spdlog.h>
#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <vector>

#include "main/commands/commands.hpp"
#include "main/exit_code.hpp"
#include "main/measurements/offline_benchmark.hpp"
#include "main/measurements/rounded.hpp"
#include "main/measurements/scheduler_benchmark.hpp"
#include "main/setup/machine.hpp"
#include "runtime/json/json.hpp"

namespace troupe::cli {
namespace {

struct scheduler_bench_options {
  scheduler_benchmark_options run;
  bool json = false;
};

int bench_scheduler(const scheduler_bench_options& options) {
  spdlog::set_level(spdlog::level::warn);
  const auto times = run_scheduler_benchmark(options.run);
  if (!times) return report(times.error());
  const double p50 = quantile(*times, 0.5);
  const double p99 = quantile(*times, 0.99);
  if (options.json) {
    json out;
    out["running"] = options.run.running;
    out["steps"] = options.run.steps;
    out["actors"] = options.run.actors;
    out["async_scheduling"] = options.run.async_scheduling;
    out["step_us_p50"] = rounded(p50);
    out["step_us_p99"] = rounded(p99);
    out["cpu"] = cpu_name();
    out["version"] = TROUPE_VERSION;
    std::printf("%s\n", out.dump(-1, ' ', false, json::error_handler_t::replace).c_str());
  } else {
    std::printf("running      %d sequences%s\n", options.run.running,
                options.run.actors ? ", every actor in the loop" : "");
    std::printf("cpu          %s\n", cpu_name().c_str());
    std::printf("step         %.1f us median, %.1f us at the 99th percentile of %d\n", p50, p99,
                options.run.steps);
  }
  return exit_ok;
}

}  // namespace

void add_bench_scheduler(CLI::App& bench, command_body& chosen) {
  const auto options = std::make_shared<scheduler_bench_options>();
  CLI::App* command = bench.add_subcommand(
      "scheduler",
      "What a step costs beside the model: plan, reserve and commit over an executor that takes no time. "
      "Needs no model. Prompts of 128 to 383 tokens, answers of 1 to 512, another request for each that "
      "ends, "
      "prefix caching on; blocks are hashed while the step runs, which is not counted");
  command->add_option("--running", options->run.running, "Sequences side by side")
      ->capture_default_str()
      ->check(CLI::Range(1, 16384));
  command->add_option("--steps", options->run.steps, "Steps that are measured")
      ->capture_default_str()
      ->check(CLI::Range(1, 1'000'000));
  command->add_flag("--actors", options->run.actors,
                    "Every actor in the loop: the time from one step's start on the runner to the next's");
  command->add_flag("--async-scheduling,!--no-async-scheduling", options->run.async_scheduling,
                    "Plan the next step while one runs");
  command->add_flag("--json", options->json, "One line of JSON");
  command->footer(
      "\nExamples:\n"
      "  troupe bench scheduler --running 256 --json\n"
      "  troupe bench scheduler --actors");
  command->callback([options, &chosen] { chosen = [options] { return bench_scheduler(*options); }; });
}

}  // namespace troupe::cli
