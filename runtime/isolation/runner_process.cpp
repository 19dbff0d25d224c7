#include "runtime/isolation/runner_process.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <utility>

#include "runtime/isolation/remote_executor.hpp"
#include "runtime/isolation/step_messages.hpp"

namespace troupe {

result<std::shared_ptr<runner_process>> runner_process::start(const runner_program& program,
                                                              std::span<const int> files) {
  result<call_memory> calls = call_memory::create();
  if (!calls) return tl::unexpected(calls.error());
  const auto own = calls->descriptors();
  std::vector<int> inherited(own.begin(), own.end());
  inherited.insert(inherited.end(), files.begin(), files.end());
  auto child = child_process::start(program.path, program.arguments, inherited);
  if (!child) return tl::unexpected(child.error());
  return std::shared_ptr<runner_process>(new runner_process(std::move(*calls), std::move(*child)));
}

result<std::unique_ptr<executor>> runner_process::open(const executor_setup& setup) try {
  flat_writer to = message();
  write(to, setup);
  result<flat_reader> answered = call(executor_call::open, 0, to);
  if (!answered) return tl::unexpected(answered.error());
  opened_executor opened;
  read(*answered, opened);
  return make_remote_executor(shared_from_this(), num_opened_++, std::move(opened));
} catch (const std::exception& fault) {
  return fail(error_code::unavailable, fmt::format("the runner process cannot begin: {}", fault.what()));
}

void runner_process::post(executor_call call, std::uint32_t device, const flat_writer& message) {
  settle();
  calls_.ask(call, device, message);
  ++num_waiting_;
  has_posted_ = true;
}

void runner_process::settle() {
  if (num_waiting_ > 0) wait();
}

void runner_process::wait() {
  const std::uint32_t before_last = std::exchange(num_waiting_, 0) - 1;
  const bool had_posted = std::exchange(has_posted_, false);
  if (!calls_.wait_for_answers(child_->descriptor()))
    throw device_lost(
        fmt::format("the runner process {} has ended: {}", child_->id(), child_->how_it_ended()));
  if (had_posted && calls_.header_of(before_last).outcome != call_outcome::value)
    throw std::runtime_error(calls_.answer_of(before_last).text());
}

result<flat_reader> runner_process::call(executor_call call, std::uint32_t device,
                                         const flat_writer& message) {
  calls_.ask(call, device, message);
  ++num_waiting_;
  wait();
  flat_reader answered = calls_.answer_of(0);
  const call_outcome outcome = calls_.header_of(0).outcome;
  if (outcome == call_outcome::value) return answered;
  if (outcome == call_outcome::fault) throw std::runtime_error(answered.text());
  error failure;
  read(answered, failure);
  return tl::unexpected(std::move(failure));
}

}  // namespace troupe
