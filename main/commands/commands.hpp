// The subcommands: each adds itself to the command line and, when chosen, says what is to be run.
#pragma once
#include <functional>

namespace CLI {
class App;
}

namespace troupe::cli {

using command_body = std::function<int()>;  // gives the exit code

void add_serve(CLI::App& app, command_body& chosen);
void add_run(CLI::App& app, command_body& chosen);
void add_chat(CLI::App& app, command_body& chosen);
void add_top(CLI::App& app, command_body& chosen);
void add_tokenize(CLI::App& app, command_body& chosen);
void add_inspect(CLI::App& app, command_body& chosen);
void add_bench(CLI::App& app, command_body& chosen);
void add_buckets(CLI::App& app, command_body& chosen);
void add_bench_scheduler(CLI::App& bench, command_body& chosen);
void add_grammar(CLI::App& app, command_body& chosen);
void add_config(CLI::App& app, command_body& chosen);
void add_gpu_selftest(CLI::App& app, command_body& chosen);
void add_runner_process(CLI::App& app, command_body& chosen);

}  // namespace troupe::cli
