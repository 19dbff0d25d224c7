// What a drain keeps of its grace.
#pragma once
#include <algorithm>
#include <chrono>

namespace troupe::net {

// For what is then still open to be aborted, its last bytes to reach the clients, and the process to end.
inline constexpr std::chrono::nanoseconds most_kept_for_last_words = std::chrono::milliseconds(1500);
inline std::chrono::nanoseconds kept_for_last_words(std::chrono::nanoseconds grace) {
  return std::min(grace / 4, most_kept_for_last_words);
}

// The same where somebody does not want to wait.
inline constexpr std::chrono::nanoseconds kept_without_grace = std::chrono::milliseconds(300);

}  // namespace troupe::net
