// What the service manager is told of a service beside its progress at the start: "STATUS=", and "READY=1"
// with it (sd_notify(3)).
#pragma once
#include <functional>
#include <mutex>
#include <string>

#include "actors/net/engine_port.hpp"

namespace troupe::cli {

// A service that is not live says so whatever else it would say, and what it does until it serves again. Any
// thread; what is told has one order.
class status_line {
 public:
  // Hears "NAME=VALUE" lines.
  using notifier = std::function<void(const std::string& state)>;
  explicit status_line(notifier notify) : notify_(std::move(notify)) {}

  // It answers requests, or has taken up new settings: tells that it is ready. `line`: what it says of itself
  // from now on as long as it serves.
  void ready(std::string line = "serving");
  // After a look at the service: tells what has changed.
  void look(const net::engine_status& now);

 private:
  const notifier notify_;
  std::mutex mutex_;
  std::string serving_ = "serving";
  std::string trouble_;  // as it was told last; empty: it serves, or has always been live
};

}  // namespace troupe::cli
