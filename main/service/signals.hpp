// SIGINT, SIGTERM and, where that is wanted, SIGHUP as calls on a thread of their own, where locks and
// messages are allowed.
#pragma once
#include <atomic>
#include <csignal>
#include <functional>
#include <mutex>
#include <thread>
#include <utility>

#include "main/service/controlling_terminal.hpp"

namespace troupe::cli {

class signal_watch {
 public:
  // Gets the signal and how many have come to this handler, from 1. SIGHUP: the terminal that the process was
  // started from has gone (controlling_terminal); that is told once.
  using handler = std::function<void(int signal, int count)>;

  // Make it before any other thread: threads inherit that these signals wait for this one. SIGPIPE is ignored
  // from now on; SIGCHLD is not, even if whoever started this process did: nobody would be told how a child
  // has ended. Without a handler a signal ends the process at once, with 128 + its number.
  // SIGHUP is left to the system (which ends the process) unless it is to be heard; then signals that mean
  // nothing to a service, which the system would end by them, do nothing, too.
  enum class hangup { is_left, is_heard };
  explicit signal_watch(hangup which = hangup::is_left);
  ~signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;

  // Replaces the handler (empty: none) and gives the one before; what that refers to may go then.
  handler handle(handler next);
  // What SIGHUP calls from now on, while the terminal is there or there was none; nothing: it is kept, once,
  // for whoever is called next.
  void handle_hangup(std::function<void()> next);

 private:
  void watch();
  void hang_up(const siginfo_t& hangup);
  void end(int signal);

  std::mutex mutex_;
  handler handler_;
  int count_ = 0;
  std::function<void()> on_hangup_;
  bool hung_up_ = false;  // while nobody was called
  const controlling_terminal terminal_;
  bool has_terminal_gone_ = false;  // as the handler was told
  std::atomic<bool> is_over_ = false;
  sigset_t signals_{};
  sigset_t previous_{};
  std::thread thread_;
};

// Who hears SIGHUP for as long as the object lives.
class scoped_hangup {
 public:
  scoped_hangup(signal_watch& watch, std::function<void()> handler) : watch_(watch) {
    watch_.handle_hangup(std::move(handler));
  }
  ~scoped_hangup() { watch_.handle_hangup({}); }
  scoped_hangup(const scoped_hangup&) = delete;
  scoped_hangup& operator=(const scoped_hangup&) = delete;

 private:
  signal_watch& watch_;
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
