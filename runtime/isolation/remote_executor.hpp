// An executor that runs in a runner process.
#pragma once
#include <memory>

#include "runtime/executor/executor.hpp"
#include "runtime/isolation/runner_process.hpp"

namespace troupe {

// Its plans are kept here and sent along with each step.
std::unique_ptr<executor> make_remote_executor(std::shared_ptr<runner_process> process,
                                               opened_executor opened);

}  // namespace troupe
