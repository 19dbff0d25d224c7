// The service's end of a call_channel: asks, and reads answers.
#pragma once
#include <cstdint>
#include <utility>

#include "runtime/isolation/call_channel.hpp"

namespace troupe {

// One thread at a time.
class call_client {
 public:
  explicit call_client(call_channel channel) : channel_(std::move(channel)) {}

  // The next call's message, and the call of it, after which its answer may be read until the next but one is
  // written. At most two calls are not answered at any time.
  flat_writer message() { return channel_.writer(next_); }
  call_number ask(executor_call call, std::uint32_t device, const flat_writer& message) {
    channel_.header(next_) = {call, call_outcome::value, device, 0, message.size()};
    channel_.tell_asked(next_ + 1);
    return next_++;
  }

  // Waits until all are answered. False: the process of `pidfd` has ended before.
  bool wait_for_answers(int pidfd) const {
    while (channel_.num_answered() != next_)
      if (!channel_.wait_for_answers(next_, pidfd)) return channel_.num_answered() == next_;
    return true;
  }

  call_outcome outcome_of(call_number call) const { return channel_.header(call).outcome; }
  // Throws std::out_of_range where the answer says that it is larger than its slot.
  flat_reader answer_to(call_number call) const { return channel_.reader(call); }

 private:
  call_channel channel_;
  call_number next_ = 0;
};

}  // namespace troupe
