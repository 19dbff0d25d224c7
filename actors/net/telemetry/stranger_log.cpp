#include "actors/net/telemetry/stranger_log.hpp"

#include <spdlog/spdlog.h>

namespace troupe::net {

stranger_log::~stranger_log() {
  if (count_ > 0) tell();
}

void stranger_log::add(const tcp::socket& from) {
  constexpr auto between_lines = std::chrono::seconds(10);
  asio_error failure;
  const auto peer = from.remote_endpoint(failure);
  last_ = failure ? "nowhere" : peer.address().to_string();
  ++count_;
  const auto now = std::chrono::steady_clock::now();
  if (now < quiet_until_) return;
  quiet_until_ = now + between_lines;
  tell();
}

void stranger_log::tell() {
  spdlog::warn("{}: {} without the right key, the last from {}", port_,
               count_ == 1 ? std::string("a request") : std::to_string(count_) + " requests", last_);
  count_ = 0;
}

}  // namespace troupe::net
