// A runner process for tests: the CPU's executor, with faults that are asked for by the token that a batch
// begins with. With the argument "none" no executor can be opened; with "service" it starts such a process.
#include <unistd.h>

#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <string>
#include <thread>

#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/isolation/executor_host.hpp"
#include "runtime/isolation/runner_process.hpp"
#include "tests/runtime/isolation/fault_tokens.hpp"

namespace troupe {
namespace {

class faulty_executor final : public forwarding_executor {
 public:
  using forwarding_executor::forwarding_executor;
  void forward(const device_batch& batch) override {
    const token_id first = batch.tokens.empty() ? 0 : batch.tokens.front();
    if (first == test::throws) throw std::runtime_error("a step that throws");
    if (first == test::kills) std::raise(SIGKILL);
    if (first == test::hangs)
      while (true) std::this_thread::sleep_for(std::chrono::hours(1));
    forwarding_executor::forward(batch);
  }
};

result<std::unique_ptr<executor>> open(const executor_setup& setup, std::span<const int> files) {
  auto opened = open_cpu_executor(setup, files);
  if (!opened) return opened;
  return std::make_unique<faulty_executor>(std::move(*opened));
}

result<std::unique_ptr<executor>> refuse(const executor_setup&, std::span<const int>) {
  return fail(error_code::resource_exhausted, "no executor today", "threads");
}

// A service of nothing: starts a runner process and tells its number by the first descriptor.
[[noreturn]] void serve_nothing(const char* program) {
  const auto started = runner_process::start({program, {"runner", "any"}}, {});
  const pid_t id = started ? (*started)->id() : 0;
  if (::write(child_process::first_descriptor, &id, sizeof id) != sizeof id) std::_Exit(1);
  while (true) ::pause();
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) {
  const auto parent = static_cast<pid_t>(std::atoi(argv[argc - 1]));
  const std::string word = argc > 2 ? argv[1] : "";
  if (word == "service") troupe::serve_nothing("/proc/self/exe");
  const auto hosted = troupe::host_executors(parent, word == "none" ? troupe::refuse : troupe::open);
  std::fprintf(stderr, "%s\n", hosted.error().message.c_str());
  return 1;
}
