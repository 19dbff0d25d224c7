// The runner process's end of a call_channel: takes one call after another, and answers it.
#pragma once
#include <thread>
#include <utility>

#include "runtime/isolation/call_channel.hpp"

namespace troupe {

class call_server {
 public:
  explicit call_server(call_channel channel) : channel_(std::move(channel)) {}

  // What is asked next: the call of the functions below until it is called again.
  call_header next_call() {
    ++current_;
    const auto is_asked = [this] { return channel_.num_asked() != current_; };
    for (int i = 0; i < looks_before_sleep && !is_asked(); ++i) {
      if (i % looks_before_yield == 0) std::this_thread::yield();
      __builtin_ia32_pause();
    }
    while (!is_asked()) channel_.wait_for_call(current_);
    return channel_.header(current_);
  }
  flat_reader message() const { return channel_.reader(current_); }
  // In the place of the message, which must have been read.
  flat_writer answer() { return channel_.writer(current_); }
  void reply(call_outcome outcome, const flat_writer& answer) {
    channel_.header(current_).outcome = outcome;
    channel_.header(current_).bytes = answer.size();
    channel_.tell_answered(current_ + 1);
  }

 private:
  // Before it sleeps: most calls come as soon as the service has seen the answer before, and to be woken
  // takes about as long as so many looks. Where every core computes, the service has none to see it on but
  // this one.
  static constexpr int looks_before_sleep = 3200;
  static constexpr int looks_before_yield = 8;

  call_channel channel_;
  call_number current_ = static_cast<call_number>(-1);  // none yet: the first is 0
};

}  // namespace troupe
