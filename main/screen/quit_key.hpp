// The key that ends what is shown on a terminal: q, as in top, less and man.
#pragma once
#include <termios.h>

#include <atomic>
#include <functional>
#include <thread>

namespace troupe::cli {

// Keys are not echoed while it lives. Where the standard input is no terminal, or the program
// is in the background there, it does nothing.
class quit_key {
 public:
  // `pressed` is called once, on a thread of its own.
  explicit quit_key(std::function<void()> pressed);
  ~quit_key();
  quit_key(const quit_key&) = delete;
  quit_key& operator=(const quit_key&) = delete;

 private:
  void watch();

  std::function<void()> pressed_;
  termios before_{};
  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

}  // namespace troupe::cli
