// What systemd hears of the service: sd_notify(3), sd_watchdog_enabled(3). Without systemd nobody hears
// anything, and nobody waits for a systemd that does not listen (main/service/service_notifier.hpp).
#pragma once
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "actors/net/engine_port.hpp"
#include "main/service/status_line.hpp"

namespace troupe::cli {

// What the service is doing, in one line: "STATUS=".
void tell_status(const std::string& line);
// That it ends, where there is nothing to finish before: "STOPPING=1". Gives that a moment to be read.
void tell_end(const std::string& why);

// Looks at the service once in a while, from its own thread, until it is gone itself: feeds systemd's
// watchdog as long as the service is live, and ends the process where it has not been for too long, since
// nothing in the process can end a step that hangs; but for what the supervisor ends.
class liveness_watch {
 public:
  using status_of = std::function<net::engine_status()>;

  // Ends the process for this reason, soon.
  using process_end = std::function<void(std::string why)>;

  // `patience`: how long the service may be not live before `end` is called, once.
  liveness_watch(status_of status, std::chrono::nanoseconds patience, process_end end);
  ~liveness_watch();  // gives what was told last a moment to be read
  status_line& line() { return line_; }
  // Any thread.
  void set_patience(std::chrono::nanoseconds patience) { patience_ = patience; }
  liveness_watch(const liveness_watch&) = delete;
  liveness_watch& operator=(const liveness_watch&) = delete;

 private:
  void watch();

  status_of status_;
  status_line line_;
  std::atomic<std::chrono::nanoseconds> patience_;
  process_end end_;
  std::mutex mutex_;
  std::condition_variable changed_;
  bool is_over_ = false;
  std::thread thread_;
};

}  // namespace troupe::cli
