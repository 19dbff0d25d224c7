// One timer per connection that bounds whatever it is doing. Lives on the io_context thread.
#pragma once
#include <chrono>
#include <functional>
#include <memory>

#include "actors/net/sockets/asio.hpp"

namespace troupe::net {

class deadline {
 public:
  // `on_expiry` is called at most once per arm().
  deadline(asio::io_context& context, std::function<void()> on_expiry);
  ~deadline();
  deadline(const deadline&) = delete;
  deadline& operator=(const deadline&) = delete;

  void arm(std::chrono::milliseconds after);
  void disarm();
  bool expired() const;  // since the last arm()

 private:
  struct state;
  static void schedule(const std::shared_ptr<state>& state);
  std::shared_ptr<state> state_;
};

}  // namespace troupe::net
