// What a runner process does: opens executors and runs their steps as its service says, until that is gone.
#pragma once
#include <functional>
#include <memory>
#include <span>
#include <string>

#include "runtime/executor/cuda_support.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/isolation/executor_setup.hpp"
#include "runtime/result.hpp"

namespace troupe {

// `files`: the descriptors behind those of the call_channel.
using executor_opener =
    std::function<result<std::unique_ptr<executor>>(const executor_setup& setup, std::span<const int> files)>;

// The CPU's: reads the model's file and maps the weights that the service has packed. Errors: those of
// load_model, map_packed_model and load_cpu_executor.
result<std::unique_ptr<executor>> open_cpu_executor(const executor_setup& setup, std::span<const int> files);

// The one that the setup asks for. Errors besides: those of cuda_support::open; unsupported (`cuda` has
// none).
result<std::unique_ptr<executor>> open_executor(const executor_setup& setup, std::span<const int> files,
                                                const cuda_support& cuda);

// The exit code of a process whose device is lost: EX_SOFTWARE of sysexits.h.
inline constexpr int device_lost_exit = 70;

// A line on standard error, in one piece; left out where nobody takes it at once.
void say_on_stderr(const std::string& line);

// The whole life of the process that `parent` has started and left so many descriptors: answers calls for
// ever. Returns (with an error) only where it cannot begin. What executors throw is told to the service,
// which decides whether that is the end; but a device that is lost ends the process, so that the next one
// finds it as it is after a start; `last_words` hears of that.
result<void> host_executors(pid_t parent, int num_descriptors, const executor_opener& open,
                            const std::function<void(const std::string&)>& last_words = say_on_stderr);

}  // namespace troupe
