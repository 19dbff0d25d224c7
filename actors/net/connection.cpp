#include "actors/net/connection.hpp"

#include <array>

namespace troupe::net {

asio::awaitable<void> linger(tcp::socket& socket) {
  asio_error ignored;
  socket.shutdown(tcp::socket::shutdown_send, ignored);
  std::array<char, 16384> dropped;
  while (socket.is_open()) {
    const auto [failure, size] = co_await socket.async_read_some(asio::buffer(dropped), no_throw);
    if (failure) break;
  }
}

}  // namespace troupe::net
