#include "runtime/isolation/crash_signals.hpp"

#include <fmt/format.h>
#include <poll.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>

namespace troupe {
namespace {

constexpr std::array crash_signals{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

std::array<struct sigaction, crash_signals.size()> usual_actions;

std::size_t place_of(int signal) {
  return static_cast<std::size_t>(std::ranges::find(crash_signals, signal) - crash_signals.begin());
}

// What the kernel raises has a positive code (sigaction(2)).
bool is_sent(const siginfo_t& how) { return how.si_code <= 0; }

void on_crash_signal(int signal, siginfo_t* how, void*) {
  if (!is_sent(*how) || how->si_pid == ::getpid()) {
    ::sigaction(signal, &usual_actions[place_of(signal)], nullptr);
    if (is_sent(*how)) std::raise(signal);  // once this returns; a fault comes again by itself
    return;
  }
  std::array<char, 96> line{};
  const auto end = fmt::format_to_n(line.begin(), line.size(),
                                    "runner process: ended by signal {} of process {}", signal, how->si_pid);
  say_at_the_end({line.data(), std::min(end.size, line.size())});
  std::raise(SIGKILL);
}

}  // namespace

bool is_crash_signal(int signal) { return place_of(signal) < crash_signals.size(); }

void end_by_sent_crash_signals() {
  struct sigaction action {};
  action.sa_sigaction = on_crash_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < crash_signals.size(); ++i)
    ::sigaction(crash_signals[i], &action, &usual_actions[i]);
}

void say_at_the_end(std::string_view line) {
  pollfd taker{STDERR_FILENO, POLLOUT, 0};
  if (::poll(&taker, 1, 0) != 1 || (taker.revents & POLLOUT) == 0) return;
  char end = '\n';
  const std::array<iovec, 2> parts{iovec{const_cast<char*>(line.data()), line.size()}, iovec{&end, 1}};
  [[maybe_unused]] const ssize_t written = ::writev(STDERR_FILENO, parts.data(), parts.size());
}

}  // namespace troupe
