#include "main/service/signals.hpp"

#include <pthread.h>

#include <cerrno>
#include <utility>

#include "runtime/isolation/exit_with_children.hpp"

namespace troupe::cli {
namespace {

constexpr int wake_up = SIGUSR1;  // others may send it, too, and mean nothing by it

// By which the system would end a process that they tell nothing. A file that may not grow is an error of
// whoever writes it.
constexpr int meaningless[] = {SIGUSR2, SIGALRM, SIGVTALRM, SIGPROF, SIGIO, SIGPWR, SIGSTKFLT, SIGXFSZ};

// By a handler and not by SIG_IGN, which a child would inherit. Others' handlers stay.
void pass_over(int signal) {
  struct sigaction before {};
  ::sigaction(signal, nullptr, &before);
  if (before.sa_handler != SIG_DFL) return;
  struct sigaction nothing {};
  nothing.sa_handler = [](int) {};
  nothing.sa_flags = SA_RESTART;
  ::sigaction(signal, &nothing, nullptr);
}

}  // namespace

signal_watch::signal_watch(hangup which) {
  std::signal(SIGPIPE, SIG_IGN);
  std::signal(SIGCHLD, SIG_DFL);
  if (which == hangup::is_heard)
    for (const int signal : meaningless) pass_over(signal);
  sigemptyset(&signals_);
  for (const int signal : {SIGINT, SIGTERM, wake_up}) sigaddset(&signals_, signal);
  if (which == hangup::is_heard) sigaddset(&signals_, SIGHUP);
  pthread_sigmask(SIG_BLOCK, &signals_, &previous_);
  thread_ = std::thread([this] { watch(); });
}

signal_watch::~signal_watch() {
  is_over_ = true;
  pthread_kill(thread_.native_handle(), wake_up);
  thread_.join();
  pthread_sigmask(SIG_SETMASK, &previous_, nullptr);
}

signal_watch::handler signal_watch::handle(handler next) {
  const std::lock_guard lock(mutex_);
  count_ = 0;
  return std::exchange(handler_, std::move(next));
}

void signal_watch::handle_hangup(std::function<void()> next) {
  const std::lock_guard lock(mutex_);
  on_hangup_ = std::move(next);
  if (on_hangup_ && std::exchange(hung_up_, false)) on_hangup_();
}

void signal_watch::watch() {
  siginfo_t received{};
  while (true) {
    const int signal = sigwaitinfo(&signals_, &received);
    if (is_over_ || (signal < 0 && errno != EINTR)) return;
    if (signal == SIGHUP) {
      hang_up(received);
    } else if (signal > 0 && signal != wake_up) {
      end(signal);
    }
  }
}

// The system says so, and the shell that it has told; once is enough.
void signal_watch::hang_up(const siginfo_t& hangup) {
  if (terminal_.has_gone_with(hangup)) {
    if (!std::exchange(has_terminal_gone_, true)) end(SIGHUP);
    return;
  }
  const std::lock_guard lock(mutex_);
  if (on_hangup_) return on_hangup_();
  hung_up_ = true;
}

void signal_watch::end(int signal) {
  const std::lock_guard lock(mutex_);
  if (!handler_) exit_with_children(128 + signal);
  handler_(signal, ++count_);
}

}  // namespace troupe::cli
