// What the service manager is told of a service once it has started: sd_notify(3).
#pragma once
#include <chrono>
#include <functional>
#include <mutex>
#include <string>
#include <utility>

#include "actors/net/engine_port.hpp"

namespace troupe::cli {

// What is told first of all where it ends.
std::string end_notice(const std::string& why);

// A service that is in trouble, not live or, once it was ready, without a runner for long, says so whatever
// else it would say, until it serves again; the log has a line for each change. One that is degraded says so
// before what it says else. Any thread; what is told has one order.
class status_line {
 public:
  // Hears "NAME=VALUE" lines.
  using notifier = std::function<void(const std::string& state)>;
  explicit status_line(notifier notify) : notify_(std::move(notify)) {}

  // It answers requests.
  void ready();
  // It takes up new settings, until reloaded(): `line` is what it says of itself from then on as long as it
  // serves. Before it is ready nothing is told of that but the line, and that later.
  void reloading();
  void reloaded(std::string line);
  // It ends within this time, and why: the last that is told.
  void stopping(std::chrono::nanoseconds within, const std::string& why = "running requests finish");
  // After a look at the service: tells what has changed, here and in the log.
  void look(const net::engine_status& now);

 private:
  void tell_ready();
  std::string serving() const;

  const notifier notify_;
  std::mutex mutex_;
  bool was_ready_ = false;
  bool is_stopping_ = false;
  std::string serving_ = "serving";
  std::string trouble_;   // empty: it is in none
  std::string degraded_;  // why it serves with less than was asked for; empty: it does not
};

}  // namespace troupe::cli
