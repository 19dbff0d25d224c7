#include "main/service/controlling_terminal.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <thread>

namespace troupe::cli {
namespace {

enum class terminal { there, gone, unknown };

// EIO: it has hung up; ENXIO: the session has none any more.
terminal look_for_terminal() {
  const int file = ::open("/dev/tty", O_RDONLY | O_NOCTTY | O_NONBLOCK | O_CLOEXEC);
  if (file < 0) return errno == ENXIO || errno == EIO ? terminal::gone : terminal::unknown;
  ::close(file);
  return terminal::there;
}

bool is_hangup_ignored() {
  struct sigaction now {};
  return ::sigaction(SIGHUP, nullptr, &now) == 0 && now.sa_handler == SIG_IGN;
}

// Where the leader of its session ends, the system sends the signal first and takes the terminal away then.
bool goes_now() {
  constexpr std::chrono::milliseconds pause{5};
  for (int looks = 0; looks < 20; ++looks) {
    if (look_for_terminal() == terminal::gone) return true;
    std::this_thread::sleep_for(pause);
  }
  return false;
}

}  // namespace

controlling_terminal::controlling_terminal()
    : hears_of_it_(look_for_terminal() == terminal::there && !is_hangup_ignored()),
      parent_(::getppid()),
      leader_(::getsid(0)) {}

bool controlling_terminal::has_gone_with(const siginfo_t& hangup) const {
  if (!hears_of_it_) return false;
  const bool is_told = hangup.si_code == SI_KERNEL || hangup.si_pid == parent_ || hangup.si_pid == leader_;
  return is_told && goes_now();
}

}  // namespace troupe::cli
