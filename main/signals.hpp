// SIGINT and SIGTERM as calls on a thread of their own, where locks and messages are allowed.
#pragma once
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

namespace troupe::cli {

class signal_watch {
 public:
  // Gets the signal and how many have come to this handler, from 1.
  using handler = std::function<void(int signal, int count)>;

  // Make it before any other thread: threads inherit that these signals wait for this one. SIGPIPE is ignored
  // from now on. Without a handler a signal ends the process at once, with 128 + its number.
  signal_watch();
  ~signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;

  // Replaces the handler (empty: none) and gives the one before; what that refers to may go then.
  handler handle(handler next);

 private:
  void watch();
  void dispatch(int signal);

  std::mutex mutex_;
  handler handler_;
  int count_ = 0;
  sigset_t signals_{};
  sigset_t previous_{};
  std::thread thread_;
};

// A handler for as long as the object lives; then the one before it again.
class scoped_handler {
 public:
  scoped_handler(signal_watch& watch, signal_watch::handler handler)
      : watch_(watch), before_(watch.handle(std::move(handler))) {}
  ~scoped_handler() { watch_.handle(std::move(before_)); }
  scoped_handler(const scoped_handler&) = delete;
  scoped_handler& operator=(const scoped_handler&) = delete;

 private:
  signal_watch& watch_;
  signal_watch::handler before_;
};

}  // namespace troupe::cli
