// How often a process was asked to end.
#pragma once
#include <chrono>
#include <optional>

namespace troupe::cli {

class signal_count {
 public:
  using time = std::chrono::steady_clock::time_point;
  // Signals that come sooner after one that counts belong to it, whatever they are: `timeout` and shells send
  // theirs to a process and once more to its group, process managers answer Ctrl-C, which everybody hears,
  // by SIGTERM. A person who has thought again takes longer.
  static constexpr std::chrono::milliseconds one_and_the_same{500};

  // How many there have been with this one, from 1; nothing where it belongs to the last one that counted.
  std::optional<int> add(time now) {
    if (count_ > 0 && now - last_ < one_and_the_same) return std::nullopt;
    last_ = now;
    return ++count_;
  }

 private:
  int count_ = 0;
  time last_{};
};

}  // namespace troupe::cli
