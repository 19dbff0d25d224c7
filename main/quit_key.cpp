#include "main/quit_key.hpp"

#include <poll.h>
#include <unistd.h>

#include <utility>

namespace troupe::cli {

quit_key::quit_key(std::function<void()> pressed) : pressed_(std::move(pressed)) {
  // No terminal, or one that somebody else has: whoever changes that is stopped.
  if (::tcgetattr(STDIN_FILENO, &before_) != 0 || ::tcgetpgrp(STDIN_FILENO) != ::getpgrp()) return;
  termios silent = before_;
  silent.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C stays a signal
  ::tcsetattr(STDIN_FILENO, TCSANOW, &silent);
  thread_ = std::thread([this] { watch(); });
}

quit_key::~quit_key() {
  if (!thread_.joinable()) return;
  is_over_ = true;
  thread_.join();
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void quit_key::watch() {
  constexpr int look = 100;  // ms, whether it is over
  while (!is_over_) {
    pollfd keys{STDIN_FILENO, POLLIN, 0};
    if (::poll(&keys, 1, look) <= 0) continue;
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) != 1) return;  // the terminal is gone
    if (key == 'q' || key == 'Q') return pressed_();
  }
}

}  // namespace troupe::cli
