// A process that runs executors for this one: what kills it kills nothing else.
#pragma once
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "runtime/executor/executor.hpp"
#include "runtime/isolation/call_client.hpp"
#include "runtime/isolation/child_process.hpp"
#include "runtime/isolation/executor_setup.hpp"
#include "runtime/result.hpp"

namespace troupe {

// Calls host_executors().
using runner_program = child_program;

// Gone with its last owner, of whom each executor is one. Calls: one thread at a time.
class runner_process : public std::enable_shared_from_this<runner_process> {
 public:
  // `files`: descriptors that it inherits. Errors: resource_exhausted, unavailable.
  static result<std::shared_ptr<runner_process>> start(const runner_program& program,
                                                       std::span<const int> files);

  // An executor in the process, its start still to come. Its calls throw device_lost where the process has
  // ended, and out_of_device_memory or std::runtime_error with the text of what was thrown there. Errors:
  // those of opening it there.
  result<std::unique_ptr<executor>> open(const executor_setup& setup);

  const std::shared_ptr<process_handle>& handle() const { return child_->handle(); }
  // Where it is killed, whoever waits for an answer is told. Any thread.
  void kill() const { handle()->kill(); }

  // For the executors, by the number that opened_executor has told: a message to write, and the answer to it,
  // valid until the next.
  flat_writer message() { return calls_.message(); }
  result<flat_reader> call(executor_call call, std::uint32_t device, const flat_writer& message);
  // The same without waiting for the answer, which has nothing to tell: what it throws is thrown by the next
  // settle(), call() or post() of this executor, and of no other.
  void post(executor_call call, std::uint32_t device, const flat_writer& message);
  void settle(std::uint32_t device);
  // There is no such executor any more. Says nothing where the process is gone, too.
  void close(std::uint32_t device) noexcept;

 private:
  struct posted_call {
    call_number number = 0;
    std::uint32_t device = 0;
  };
  struct thrown {
    call_outcome outcome = call_outcome::fault;
    std::string what;
  };

  runner_process(call_channel calls, std::unique_ptr<child_process> child)
      : calls_(std::move(calls)), child_(std::move(child)) {}

  // Waits for the answers to all that was asked, and keeps what the posted call has thrown.
  void wait();
  // False: it has ended before.
  bool waits_for_answers() const;
  void throw_fault_of(std::uint32_t device);

  call_client calls_;
  std::unique_ptr<child_process> child_;
  std::optional<posted_call> posted_;       // its answer has not been looked at
  std::map<std::uint32_t, thrown> faults_;  // of executors' posted calls, not thrown yet
};

}  // namespace troupe
