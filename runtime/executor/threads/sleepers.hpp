// How the threads of a team wait for each other: they look for a while, then sleep.
#pragma once
#include <atomic>
#include <cstdint>

namespace troupe {

// On any of the numbers that they share. Any thread.
class sleepers {
 public:
  explicit sleepers(std::int32_t looks_before_sleep) : looks_(looks_before_sleep) {}

  // Until `value` is something else. Who changes it does so in an operation of sequential consistency and
  // calls wake(): a release store is not enough, since it may become visible behind the look at who sleeps.
  void wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old);
  // A system call where somebody sleeps, and only there.
  void wake(const std::atomic<std::uint32_t>& changed) const;

 private:
  std::int32_t looks_;
  alignas(64) std::atomic<std::int32_t> asleep_{0};
};

}  // namespace troupe
