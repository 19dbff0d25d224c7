#include "main/screen/quit_key.hpp"

#include <poll.h>
#include <unistd.h>

#include <utility>

namespace troupe::cli {
namespace {

// Who asks a terminal for more than this while somebody else has it is stopped.
bool has_terminal() { return ::tcgetpgrp(STDIN_FILENO) == ::getpgrp(); }

}  // namespace

quit_key::quit_key(std::function<void()> pressed) : pressed_(std::move(pressed)) {
  if (::tcgetattr(STDIN_FILENO, &before_) != 0 || !has_terminal()) return;
  termios silent = before_;
  silent.c_lflag &= ~static_cast<tcflag_t>(ICANON | ECHO);  // Ctrl-C stays a signal
  ::tcsetattr(STDIN_FILENO, TCSANOW, &silent);
  thread_ = std::thread([this] { watch(); });
}

quit_key::~quit_key() {
  if (!thread_.joinable()) return;
  is_over_ = true;
  thread_.join();
  if (has_terminal()) ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

void quit_key::watch() {
  constexpr int look = 100;  // ms, whether it is over
  while (!is_over_) {
    pollfd keys{STDIN_FILENO, POLLIN, 0};
    if (::poll(&keys, 1, look) <= 0) continue;
    if (!has_terminal()) {  // the key is somebody else's
      ::poll(nullptr, 0, look);
      continue;
    }
    char key = 0;
    if (::read(STDIN_FILENO, &key, 1) != 1) return;  // the terminal is gone
    if (key == 'q' || key == 'Q') return pressed_();
  }
}

}  // namespace troupe::cli
