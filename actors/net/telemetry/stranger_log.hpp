// Who came to a port without its key, in the log: a line in ten seconds at most, however many they are.
#pragma once
#include <chrono>
#include <cstdint>
#include <string>
#include <utility>

#include "actors/net/sockets/asio.hpp"

namespace troupe::net {

// Lives on the io_context thread.
class stranger_log {
 public:
  // `port`: what it is called, "operators' port".
  explicit stranger_log(std::string port) : port_(std::move(port)) {}
  ~stranger_log();  // tells of those of whom no line has told
  stranger_log(const stranger_log&) = delete;
  stranger_log& operator=(const stranger_log&) = delete;
  void add(const tcp::socket& from);

 private:
  void tell();
  const std::string port_;
  std::uint64_t count_ = 0;  // of whom no line has told
  std::string last_;         // where the last of them came from
  std::chrono::steady_clock::time_point quiet_until_{};
};

}  // namespace troupe::net
