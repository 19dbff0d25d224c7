#include "actors/net/stranger_log.hpp"

#include <spdlog/spdlog.h>

namespace troupe::net {

void stranger_log::add(const tcp::socket& from) {
  constexpr auto between_lines = std::chrono::seconds(10);
  ++count_;
  const auto now = std::chrono::steady_clock::now();
  if (now < quiet_until_) return;
  quiet_until_ = now + between_lines;
  asio_error failure;
  const auto peer = from.remote_endpoint(failure);
  const std::string address = failure ? std::string("nowhere") : peer.address().to_string();
  spdlog::warn("{}: {} without the right key, the last from {}", port_,
               count_ == 1 ? std::string("a request") : std::to_string(count_) + " requests", address);
  count_ = 0;
}

}  // namespace troupe::net
