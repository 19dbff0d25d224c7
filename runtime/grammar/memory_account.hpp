// What many hold together, in bytes, so that one who keeps them within a bound need not ask each.
#pragma once
#include <atomic>
#include <cstddef>

namespace troupe::grammar {

// Any thread may call.
class memory_account {
 public:
  // One that held `before` bytes holds `now`.
  void change(std::size_t before, std::size_t now) {
    bytes_.fetch_add(now - before, std::memory_order_relaxed);  // modulo 2^64, as the sum is
  }
  std::size_t bytes() const { return bytes_.load(std::memory_order_relaxed); }

 private:
  std::atomic<std::size_t> bytes_{0};
};

}  // namespace troupe::grammar
