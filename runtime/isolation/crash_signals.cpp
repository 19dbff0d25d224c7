#include "runtime/isolation/crash_signals.hpp"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstddef>
#include <cstring>

namespace troupe {
namespace {

constexpr std::array all_crash_signals{SIGSEGV, SIGBUS, SIGABRT, SIGFPE, SIGILL, SIGTRAP, SIGSYS};

std::array<struct sigaction, all_crash_signals.size()> usual_actions;

std::size_t place_of(int signal) {
  return static_cast<std::size_t>(std::ranges::find(all_crash_signals, signal) - all_crash_signals.begin());
}

// Nobody else sends those that are for programs to give a meaning to.
int stand_in_of(int signal) { return SIGRTMIN + static_cast<int>(place_of(signal)); }

// What the kernel raises has a positive code (sigaction(2)).
bool is_sent(const siginfo_t& how) { return how.si_code <= 0; }

void on_crash_signal(int signal, siginfo_t* how, void*) {
  if (!is_sent(*how) || how->si_pid == ::getpid()) {
    ::sigaction(signal, &usual_actions[place_of(signal)], nullptr);
    // Once this returns. A fault comes again by itself; behind a trap or a forbidden call the program goes
    // on.
    if (is_sent(*how) || signal == SIGTRAP || signal == SIGSYS) std::raise(signal);
    return;
  }
  std::raise(stand_in_of(signal));
}

}  // namespace

bool is_crash_signal(int signal) { return place_of(signal) < all_crash_signals.size(); }

sigset_t crash_signals() {
  sigset_t all;
  sigemptyset(&all);
  for (const int each : all_crash_signals) sigaddset(&all, each);
  return all;
}

std::string describe_signal(int signal) {
  for (const int sent : all_crash_signals)
    if (signal == stand_in_of(sent)) return describe_signal(sent) + ", sent by another process";
  return fmt::format("signal {} ({})", signal, ::strsignal(signal));
}

void end_by_sent_crash_signals() {
  struct sigaction action {};
  action.sa_sigaction = on_crash_signal;
  action.sa_flags = SA_SIGINFO | SA_ONSTACK;
  for (std::size_t i = 0; i < all_crash_signals.size(); ++i)
    ::sigaction(all_crash_signals[i], &action, &usual_actions[i]);
  const sigset_t awaited = crash_signals();
  ::pthread_sigmask(SIG_UNBLOCK, &awaited, nullptr);
}

}  // namespace troupe
