// A runner process for tests: the CPU's executor, with faults that are asked for by the token that a batch
// begins with. With the argument "none" no executor can be opened, with "one:PATH" none but the first while a
// file lies there, with "no-cuda:PATH" none on a CUDA device, and while one lies at PATH.hold such a device
// stops in the midst of an answer; with "dies:NUMBER:PATH" the process is killed as it opens one, until the
// file there has so many bytes, one for each such end, and with "stops:NUMBER:PATH" it stops there; with
// "overlaps" its tokens come late, with "defers" a step runs when something waits for it; with "service" it
// starts such a process.
#include <sys/mman.h>
#include <unistd.h>

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

#include "runtime/executor/forwarding_executor.hpp"
#include "runtime/isolation/executor_host.hpp"
#include "runtime/isolation/runner_process.hpp"
#include "tests/runtime/isolation/fault_tokens.hpp"
#include "tests/support/overlapping_executor.hpp"

namespace troupe {
namespace {

void touch_what_is_not_there() {
  void* const page = ::mmap(nullptr, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  *static_cast<volatile char*>(page) = 1;
}

class faulty_executor final : public forwarding_executor {
 public:
  using forwarding_executor::forwarding_executor;
  void forward(const device_batch& batch) override {
    const token_id first = batch.tokens.empty() ? -1 : batch.tokens.front();
    if (first == test::throws) throw std::runtime_error("a step that throws");
    if (first == test::kills) std::raise(SIGKILL);
    if (first == test::hangs) std::raise(SIGSTOP);
    if (first == test::raises) std::raise(SIGSEGV);
    if (first == test::faults) touch_what_is_not_there();
    if (first == test::aborts) std::abort();
    if (first == test::lacks) throw out_of_device_memory("a step that there is no memory for");
    if (first == test::loses) throw device_lost("the device has left the bus");
    forwarding_executor::forward(batch);
  }
};

// Stops the process at the first step behind `last_position` while a file lies at `path`.
class held_executor final : public forwarding_executor {
 public:
  held_executor(std::unique_ptr<executor> inner, std::string path)
      : forwarding_executor(std::move(inner)), path_(std::move(path)) {}
  void forward(const device_batch& batch) override {
    if (!batch.positions.empty() && batch.positions.front() > last_position && std::filesystem::exists(path_))
      std::raise(SIGSTOP);
    forwarding_executor::forward(batch);
  }

 private:
  static constexpr std::int32_t last_position = 20;
  std::string path_;
};

// In place of a CUDA device: the CPU, by a name that says what was asked for.
class renamed_executor final : public forwarding_executor {
 public:
  renamed_executor(std::unique_ptr<executor> inner, std::string name)
      : forwarding_executor(std::move(inner)), name_(std::move(name)) {}
  std::string kernel_path() const override { return name_; }
  std::string choices() const override { return choices_; }
  void use_choices(const std::string& choices) override { choices_ = choices; }
  std::optional<device_figures> figures() override {
    return device_figures{name_, 1ULL << 40U, 3, 7, 11, 1ULL << 33U};
  }

 private:
  std::string name_;
  std::string choices_ = {"its\0own", 7};
};

result<std::unique_ptr<executor>> open_cuda(const model_ptr& model, const cpu_executor_options& options,
                                            const cuda_choice& choice) {
  auto opened = load_cpu_executor(model, options);
  if (!opened) return opened;
  std::string name =
      "cuda " + std::to_string(choice.device_id) + " " + std::to_string(choice.memory_utilization);
  if (choice.weights == weight_form::in_file) name += " quantised";
  if (choice.weights == weight_form::fp8) name += " fp8";
  if (choice.batch_invariant) name += " invariant";
  for (const std::int32_t rows : choice.graph_rows) name += " " + std::to_string(rows);
  return std::make_unique<renamed_executor>(std::move(*opened), std::move(name));
}

result<std::unique_ptr<executor>> open(const executor_setup& setup, std::span<const int> files) {
  auto opened = open_executor(setup, files, {.find = {}, .open = open_cuda});
  if (!opened) return opened;
  return std::make_unique<faulty_executor>(std::move(*opened));
}

result<std::unique_ptr<executor>> open_overlapping(const executor_setup& setup, std::span<const int> files) {
  auto opened = open(setup, files);
  if (!opened) return opened;
  return std::make_unique<test::overlapping_executor>(std::move(*opened), 2);
}

// As a device that goes on by itself: what it was asked for shows where something waits for it.
class deferring_executor final : public forwarding_executor {
 public:
  using forwarding_executor::forwarding_executor;
  bool overlaps() const override { return true; }
  void forward(const device_batch& batch) override { asked_ = batch; }
  void synchronize() override {
    if (const auto asked = std::exchange(asked_, std::nullopt)) forwarding_executor::forward(*asked);
  }

 private:
  std::optional<device_batch> asked_;
};

result<std::unique_ptr<executor>> open_deferring(const executor_setup& setup, std::span<const int> files) {
  auto opened = open(setup, files);
  if (!opened) return opened;
  return std::make_unique<deferring_executor>(std::move(*opened));
}

result<std::unique_ptr<executor>> refuse(const executor_setup&, std::span<const int>) {
  return fail(error_code::resource_exhausted, "no executor today", "threads");
}

result<std::unique_ptr<executor>> open_or_get(int signal, const std::string& number_and_path,
                                              const executor_setup& setup, std::span<const int> files) {
  const std::size_t colon = number_and_path.find(':');
  const std::string path = number_and_path.substr(colon + 1);
  std::error_code not_there;
  const std::uintmax_t ends = std::filesystem::file_size(path, not_there);
  if (!not_there && ends >= std::stoul(number_and_path.substr(0, colon))) return open(setup, files);
  std::ofstream(path, std::ios::app) << 'x';
  std::raise(signal);
  return refuse(setup, files);
}

executor_opener opener_of(const std::string& word) {
  if (word == "none") return refuse;
  if (word == "overlaps") return open_overlapping;
  if (word == "defers") return open_deferring;
  if (word.starts_with("no-cuda:"))
    return [path = word.substr(8)](const executor_setup& setup,
                                   std::span<const int> files) -> result<std::unique_ptr<executor>> {
      if (!setup.cuda) return open(setup, files);
      if (std::filesystem::exists(path)) return refuse(setup, files);
      auto opened = open(setup, files);
      if (!opened) return opened;
      return std::make_unique<held_executor>(std::move(*opened), path + ".hold");
    };
  if (word.starts_with("dies:") || word.starts_with("stops:"))
    return [signal = word.front() == 'd' ? SIGKILL : SIGSTOP, rest = word.substr(word.find(':') + 1)](
               const executor_setup& setup, std::span<const int> files) {
      return open_or_get(signal, rest, setup, files);
    };
  if (!word.starts_with("one:")) return open;
  const auto is_first = std::make_shared<bool>(true);
  return [is_first, path = word.substr(4)](const executor_setup& setup, std::span<const int> files) {
    const bool may_open = std::exchange(*is_first, false) || !std::filesystem::exists(path);
    return may_open ? open(setup, files) : refuse(setup, files);
  };
}

// A service of nothing: starts a runner process and tells its number by the first descriptor.
[[noreturn]] void serve_nothing(const char* program) {
  const auto started = runner_process::start({program, {"runner", "any"}}, {});
  const pid_t id = started ? (*started)->handle()->id() : 0;
  if (::write(child_process::first_descriptor, &id, sizeof id) != sizeof id) std::_Exit(1);
  while (true) ::pause();
}

}  // namespace
}  // namespace troupe

int main(int argc, char** argv) {
  if (argc < 4) return 2;
  const auto parent = static_cast<pid_t>(std::atoi(argv[argc - 1]));
  const int num_descriptors = std::atoi(argv[argc - 2]);
  const std::string word = argv[1];
  if (word == "service") troupe::serve_nothing("/proc/self/exe");
  const auto hosted = troupe::host_executors(parent, num_descriptors, troupe::opener_of(word));
  std::fprintf(stderr, "%s\n", hosted.error().message.c_str());
  return 1;
}
