#include "runtime/isolation/runner_process.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "runtime/isolation/remote_executor.hpp"
#include "runtime/isolation/step_messages.hpp"

namespace troupe {
namespace {

constexpr std::uint32_t of_no_executor = ~std::uint32_t{0};

[[noreturn]] void rethrow(call_outcome outcome, std::string what) {
  if (outcome == call_outcome::shortage) throw out_of_device_memory(std::move(what));
  throw std::runtime_error(what);
}

}  // namespace

result<std::shared_ptr<runner_process>> runner_process::start(const runner_program& program,
                                                              std::span<const int> files) {
  result<call_channel> calls = call_channel::create();
  if (!calls) return tl::unexpected(calls.error());
  const auto own = calls->descriptors();
  std::vector<int> inherited(own.begin(), own.end());
  inherited.insert(inherited.end(), files.begin(), files.end());
  auto child = child_process::start(program, inherited);
  if (!child) return tl::unexpected(child.error());
  return std::shared_ptr<runner_process>(new runner_process(std::move(*calls), std::move(*child)));
}

result<std::unique_ptr<executor>> runner_process::open(const executor_setup& setup) try {
  flat_writer to = message();
  write(to, setup);
  result<flat_reader> answered = call(executor_call::open, of_no_executor, to);
  if (!answered) return tl::unexpected(answered.error());
  opened_executor opened;
  read(*answered, opened);
  return make_remote_executor(shared_from_this(), std::move(opened));
} catch (const std::exception& fault) {
  return fail(error_code::unavailable, fmt::format("the runner process cannot begin: {}", fault.what()));
}

void runner_process::post(executor_call call, std::uint32_t device, const flat_writer& message) {
  if (posted_) wait();
  throw_fault_of(device);
  posted_ = {calls_.ask(call, device, message), device};
}

void runner_process::settle(std::uint32_t device) {
  if (posted_ && posted_->device == device) wait();
  throw_fault_of(device);
}

void runner_process::wait() {
  const std::optional<posted_call> posted = std::exchange(posted_, std::nullopt);
  if (!waits_for_answers())
    throw device_lost(
        fmt::format("the runner process {} has ended: {}", child_->handle()->id(), child_->how_it_ended()));
  if (posted && calls_.outcome_of(posted->number) != call_outcome::value)
    faults_[posted->device] = {calls_.outcome_of(posted->number), calls_.answer_to(posted->number).text()};
}

// Where it cannot be waited for, nobody knows any more which call is answered.
bool runner_process::waits_for_answers() const try {
  return calls_.wait_for_answers(child_->handle()->descriptor());
} catch (const std::runtime_error& fault) {
  throw device_lost(fault.what());
}

void runner_process::throw_fault_of(std::uint32_t device) {
  if (auto fault = faults_.extract(device)) rethrow(fault.mapped().outcome, std::move(fault.mapped().what));
}

result<flat_reader> runner_process::call(executor_call call, std::uint32_t device,
                                         const flat_writer& message) {
  const call_number asked = calls_.ask(call, device, message);
  wait();
  throw_fault_of(device);
  flat_reader answered = calls_.answer_to(asked);
  const call_outcome outcome = calls_.outcome_of(asked);
  if (outcome == call_outcome::value) return answered;
  if (outcome != call_outcome::failure) rethrow(outcome, answered.text());
  error failure;
  read(answered, failure);
  return tl::unexpected(std::move(failure));
}

// Where nobody is left who could ask for anything, the process ends.
void runner_process::close(std::uint32_t device) noexcept try {
  if (weak_from_this().use_count() == 1) return;
  if (posted_) wait();
  faults_.erase(device);
  post(executor_call::close, device, message());
} catch (const std::exception&) {
}

}  // namespace troupe
