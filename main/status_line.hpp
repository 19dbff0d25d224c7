// What the service manager is told of a service once it has started: sd_notify(3).
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

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
  // It takes up new settings, until ready().
  void reloading();
  // It ends within this time: the last that is told.
  void stopping(std::chrono::nanoseconds within);
  // After a look at the service: tells what has changed, here and in the log.
  void look(const net::engine_status& now);

 private:
  const notifier notify_;
  std::mutex mutex_;
  bool was_ready_ = false;
  bool is_stopping_ = false;
  std::string serving_ = "serving";
  std::string trouble_;  // empty: it is in none
};

}  // namespace troupe::cli
