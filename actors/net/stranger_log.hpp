// Who came to a port without its key, in the log: a line now and then, however many they are.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "actors/net/asio.hpp"

namespace troupe::net {

// Lives on the io_context thread.
class stranger_log {
 public:
  // `port`: what it is called, "operators' port".
  explicit stranger_log(std::string port) : port_(std::move(port)) {}
  void add(const tcp::socket& from);

 private:
  const std::string port_;
  std::uint64_t count_ = 0;
  std::chrono::steady_clock::time_point quiet_until_{};
};

}  // namespace troupe::net
