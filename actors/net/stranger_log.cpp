#include "actors/net/stranger_log.hpp"

#include <spdlog/spdlog.h>

namespace troupe::net {

void stranger_log::add(const std::string& address) {
  constexpr auto between_lines = std::chrono::seconds(10);
  ++count_;
  const auto now = std::chrono::steady_clock::now();
  if (now < quiet_until_) return;
  quiet_until_ = now + between_lines;
  spdlog::warn("operators' port: {} without the right key, the last from {}",
               count_ == 1 ? std::string("a request") : std::to_string(count_) + " requests", address);
  count_ = 0;
}

}  // namespace troupe::net
