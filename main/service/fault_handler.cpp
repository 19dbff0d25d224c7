#include "main/service/fault_handler.hpp"

#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstring>

#include "main/exit_code.hpp"

namespace troupe::cli {
namespace {

// All of this runs in a signal's handler: nothing that locks or allocates.

void say(const char* text) {
  [[maybe_unused]] const auto written = ::write(STDERR_FILENO, text, std::strlen(text));
}

bool core_files_are_wanted() {
  rlimit limit{};
  return ::getrlimit(RLIMIT_CORE, &limit) == 0 && limit.rlim_cur > 0;
}

// The copy holds no port and no pipe: whoever starts the service again finds them free.
void leave_core_file(int fault) {
  if (::_Fork() != 0) return;
  ::close_range(0, ~0U, 0);
  std::signal(fault, SIG_DFL);
  sigset_t released;
  sigemptyset(&released);
  sigaddset(&released, fault);
  ::sigprocmask(SIG_UNBLOCK, &released, nullptr);
  std::raise(fault);
  ::_exit(exit_internal);
}

void end(int fault) {
  std::array<char, 16> thread{};  // the longest name and its end
  ::prctl(PR_GET_NAME, thread.data());
  say("troupe: signal ");
  say(::sigabbrev_np(fault));
  say(" (");
  say(::sigdescr_np(fault));
  say(") on thread ");
  say(thread.data());
  say(": the process ends\n");
  if (core_files_are_wanted()) leave_core_file(fault);
  ::_exit(exit_internal);
}

}  // namespace

void exit_on_fault() {
  for (const int fault : {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT}) {
    struct sigaction before {};
    if (::sigaction(fault, nullptr, &before) != 0 || before.sa_handler != SIG_DFL) continue;
    struct sigaction ours {};
    ours.sa_handler = end;
    sigfillset(&ours.sa_mask);
    ::sigaction(fault, &ours, nullptr);
  }
}

}  // namespace troupe::cli
