// What the service manager is told, sent on a thread that nobody waits for: its socket blocks whoever sends
// more than is read.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

namespace troupe::cli {

// Of each kind of state ("WATCHDOG=1", "STATUS=...", "READY=1\nSTATUS=...": the kind is the first line's
// name) the latest alone waits to be sent, behind what was told before it. So the queue has a bound, a
// reload's READY=1 comes after its RELOADING=1, and what is sent last is how things stand. Any thread.
class service_notifier {
 public:
  using sender = std::function<void(const std::string& state)>;

  // `send` is called on the notifier's thread and may never return: it outlives the notifier then.
  explicit service_notifier(sender send);
  ~service_notifier();  // what has not been sent is dropped
  service_notifier(const service_notifier&) = delete;
  service_notifier& operator=(const service_notifier&) = delete;

  void tell(std::string state);
  // Waits until everything has been sent, no longer than this; whether it has.
  bool flush(std::chrono::milliseconds patience);

 private:
  struct state_queue;
  std::shared_ptr<state_queue> queue_;  // the thread's, too
};

}  // namespace troupe::cli
