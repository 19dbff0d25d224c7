// The process of its own that runs the model, for programs that embed the company.
#pragma once
#include <optional>

#include "runtime/isolation/runner_process.hpp"

namespace troupe {

// For engine_options::isolation: this program once more, without the service's keys. Its main() must begin
// with run_if_runner_process().
runner_program this_program();

// Where this process was started as a runner of this_program(): runs the model's steps until the company is
// gone; where it cannot begin it says why on standard error and gives the exit code. Else nothing, at once.
// To be called before any thread is started. spdlog's default logger writes to standard error there.
std::optional<int> run_if_runner_process(int argc, const char* const* argv);

}  // namespace troupe
