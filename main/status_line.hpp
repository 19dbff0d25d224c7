// What the service manager is told of a service beside its progress at the start: "STATUS=", and "READY=1"
// with it (sd_notify(3)).
#pragma once
#include <functional>
#include <mutex>
#include <string>

#include "actors/net/engine_port.hpp"

namespace troupe::cli {

// A service that is in trouble, not live or, once it was ready, without a runner for long, says so whatever
// else it would say, until it serves again; the log has a line for each change. Any thread; what is told has
// one order.
class status_line {
 public:
  // Hears "NAME=VALUE" lines.
  using notifier = std::function<void(const std::string& state)>;
  explicit status_line(notifier notify) : notify_(std::move(notify)) {}

  // It answers requests, or has taken up new settings: tells that it is ready. `line`: what it says of itself
  // from now on as long as it serves.
  void ready(std::string line = "serving");
  // After a look at the service: tells what has changed, here and in the log.
  void look(const net::engine_status& now);

 private:
  const notifier notify_;
  std::mutex mutex_;
  bool was_ready_ = false;
  std::string serving_ = "serving";
  std::string trouble_;  // as it was told last; empty: it serves, or has always been live
};

}  // namespace troupe::cli
