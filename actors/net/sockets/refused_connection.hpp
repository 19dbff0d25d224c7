// A client beyond the limit of connections: told so, then closed.
#pragma once
#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "actors/net/sockets/connection.hpp"
#include "actors/net/sockets/deadline.hpp"
#include "runtime/result.hpp"

namespace troupe::net {

class refused_connection final : public connection {
 public:
  refused_connection(asio::io_context& context, tcp::socket socket, std::string words,
                     std::chrono::milliseconds timeout);
  asio::awaitable<void> run() override;
  void finish(const ending&) override { close(); }
  void close() override;

 private:
  tcp::socket socket_;
  std::string words_;
  std::chrono::milliseconds timeout_;
  deadline deadline_;
};

// Why a client beyond the limit is refused, on every port.
inline const error too_many_connections{error_code::unavailable, "too many connections at the moment"};

// Has clients refused with these words, made anew for each.
connection_factory refuse_with(std::function<std::string()> words);
// Tells clients of HTTP too_many_connections.
connection_factory refuse_over_http();

}  // namespace troupe::net
