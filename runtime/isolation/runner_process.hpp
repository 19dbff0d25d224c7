// A process that runs executors for this one: what kills it kills nothing else.
#pragma once
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "runtime/executor/executor.hpp"
#include "runtime/isolation/call_memory.hpp"
#include "runtime/isolation/child_process.hpp"
#include "runtime/isolation/executor_setup.hpp"
#include "runtime/result.hpp"

namespace troupe {

// The program that calls host_executors(), and its arguments but for the last.
struct runner_program {
  std::string path = "/proc/self/exe";
  std::vector<std::string> arguments = {"troupe", "runner-process"};
};

// Gone with its last owner, of whom each executor is one. Calls: one thread at a time.
class runner_process : public std::enable_shared_from_this<runner_process> {
 public:
  // `files`: descriptors that it inherits. Errors: resource_exhausted, io_error.
  static result<std::shared_ptr<runner_process>> start(const runner_program& program,
                                                       std::span<const int> files);

  // An executor in the process, its start still to come. Its calls throw device_lost where the process has
  // ended, and std::runtime_error with the text of what was thrown there. Errors: those of opening it there.
  result<std::unique_ptr<executor>> open(const executor_setup& setup);

  pid_t id() const { return child_->id(); }
  // At once; whoever waits for an answer is told. Any thread.
  void kill() const { child_->kill(); }
  // The same, and waits until it is gone, with all of its memory.
  void end() {
    kill();
    child_->how_it_ended();
  }

  // For the executors: a message to write, and the answer to it, valid until the next.
  flat_writer message() { return calls_.message(); }
  result<flat_reader> call(executor_call call, std::uint32_t device, const flat_writer& message);
  // The same without waiting for the answer, which has nothing to tell: what it throws is thrown by settle(),
  // or by the next call or post.
  void post(executor_call call, std::uint32_t device, const flat_writer& message);
  void settle();

 private:
  // Waits for the answers, and throws what the posted call has thrown.
  void wait();

  runner_process(call_memory calls, std::unique_ptr<child_process> child)
      : calls_(std::move(calls)), child_(std::move(child)) {}

  call_memory calls_;
  std::unique_ptr<child_process> child_;
  std::uint32_t num_opened_ = 0;
  std::uint32_t num_waiting_ =
      0;  // calls whose answers have not been waited for: one posted, and the last one
  bool has_posted_ = false;
};

}  // namespace troupe
