#include "main/setup/runner_program.hpp"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <charconv>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

#include "config/load.hpp"
#include "main/setup/cuda_support.hpp"
#include "runtime/isolation/child_process.hpp"
#include "runtime/isolation/executor_host.hpp"

namespace troupe {
namespace {

constexpr std::string_view role = "runner-process";  // as child_program has it
constexpr int exit_failure = 1;

std::optional<int> to_number(std::string_view text) {
  int number = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), number);
  if (read.ec != std::errc() || read.ptr != text.data() + text.size()) return std::nullopt;
  return number;
}

}  // namespace

runner_program this_program() { return {.withheld = {config::admin_key_variable, config::api_key_variable}}; }

std::optional<int> run_if_runner_process(int argc, const char* const* argv) {
  constexpr int arguments = 4;  // its name, its role, and the two that child_process adds
  const char* const started_by = std::getenv(child_process::parent_variable);
  if (started_by == nullptr || argc != arguments || argv[1] != role ||
      argv[3] != std::string_view(started_by))
    return std::nullopt;
  const auto num_descriptors = to_number(argv[2]);
  const auto parent = to_number(argv[3]);
  if (!num_descriptors || !parent) return std::nullopt;
  spdlog::set_default_logger(spdlog::stderr_logger_mt("runner"));  // standard output is the program's
  const auto open = [](const executor_setup& setup, std::span<const int> files) {
    return open_executor(setup, files, find_cuda_support());
  };
  const auto hosted = host_executors(*parent, *num_descriptors, open);
  say_on_stderr("runner process: " + hosted.error().message);
  return exit_failure;
}

}  // namespace troupe
