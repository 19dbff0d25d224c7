// Wakes the one coroutine that waits on it. Both sides run on the same io_context thread.
#pragma once
#include <utility>

#include "actors/net/sockets/asio.hpp"

namespace troupe::net {

class async_event {
 public:
  explicit async_event(asio::io_context& context) : timer_(context, asio::steady_timer::time_point::max()) {}

  // Remembered where nobody waits; several are one.
  void notify() {
    signalled_ = true;
    timer_.cancel();
  }
  asio::awaitable<void> wait() {
    while (!signalled_) co_await timer_.async_wait(no_throw);
    signalled_ = false;
  }

 private:
  asio::steady_timer timer_;
  bool signalled_ = false;
};

}  // namespace troupe::net
