#include "runtime/executor/threads/sleepers.hpp"

#include "runtime/executor/threads/futex.hpp"
#include "runtime/executor/threads/longest_sleep.hpp"

namespace troupe {

void sleepers::wait_while(const std::atomic<std::uint32_t>& value, std::uint32_t old) {
  for (std::int32_t i = 0; i < looks_; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    __builtin_ia32_pause();
  }
  asleep_.fetch_add(1, std::memory_order_seq_cst);
  while (value.load(std::memory_order_seq_cst) == old) sleep_on(value, old, longest_sleep);
  asleep_.fetch_sub(1, std::memory_order_seq_cst);
}

void sleepers::wake(const std::atomic<std::uint32_t>& changed) const {
  if (asleep_.load(std::memory_order_seq_cst) != 0) wake_sleepers_on(changed);
}

}  // namespace troupe
