#include "actors/net/connection.hpp"

#include <array>

namespace troupe::net {

asio::awaitable<void> linger(tcp::socket& socket, std::chrono::milliseconds limit) {
  asio_error ignored;
  socket.shutdown(tcp::socket::shutdown_send, ignored);
  std::array<char, 16384> dropped;
  const auto end = std::chrono::steady_clock::now() + limit;
  while (socket.is_open() && std::chrono::steady_clock::now() < end) {
    const auto [failure, size] = co_await socket.async_read_some(asio::buffer(dropped), no_throw);
    if (failure) break;
  }
}

}  // namespace troupe::net
