#include "runtime/executor/threads/futex.hpp"

#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <climits>
#include <ctime>

namespace troupe {
namespace {

static_assert(sizeof(std::atomic<std::uint32_t>) == sizeof(std::uint32_t));
static_assert(std::atomic<std::uint32_t>::is_always_lock_free);

}  // namespace

void sleep_on(const std::atomic<std::uint32_t>& value, std::uint32_t old, std::chrono::nanoseconds at_most) {
  const auto whole = std::chrono::duration_cast<std::chrono::seconds>(at_most);
  timespec time{};
  time.tv_sec = whole.count();
  time.tv_nsec = (at_most - whole).count();
  ::syscall(SYS_futex, &value, FUTEX_WAIT_PRIVATE, old, &time, nullptr, 0);
}

void wake_sleepers_on(const std::atomic<std::uint32_t>& value) {
  ::syscall(SYS_futex, &value, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace troupe
