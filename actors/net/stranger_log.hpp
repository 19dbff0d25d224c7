// Who came to the operators' port without the key, in the log: a line now and then, however many they are.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>

namespace troupe::net {

// Lives on the io_context thread.
class stranger_log {
 public:
  void add(const std::string& address);

 private:
  std::uint64_t count_ = 0;
  std::chrono::steady_clock::time_point quiet_until_{};
};

}  // namespace troupe::net
