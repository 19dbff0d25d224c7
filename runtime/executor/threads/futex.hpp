// To sleep until another thread of this process changes a number: futex(2).
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>

namespace troupe {

// Sleeps where `value` is still `old`, until it is woken or `at_most` has passed; may return early. Who asks
// looks again.
void sleep_on(const std::atomic<std::uint32_t>& value, std::uint32_t old, std::chrono::nanoseconds at_most);

// Wakes all threads that sleep on it. A system call, whether there are any or not.
void wake_sleepers_on(const std::atomic<std::uint32_t>& value);

}  // namespace troupe
