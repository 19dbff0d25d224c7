#include "actors/net/sockets/connection.hpp"

#include <array>
#include <cstddef>

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

void say_last(tcp::socket& socket, std::string_view words) {
  constexpr int most_reads = 4;
  asio_error failure;
  socket.non_blocking(true, failure);
  socket.write_some(asio::buffer(words), failure);
  socket.shutdown(tcp::socket::shutdown_send, failure);
  std::array<char, 16384> dropped;
  for (int i = 0; i < most_reads; ++i)
    if (socket.read_some(asio::buffer(dropped), failure) == 0) return;
}

asio::awaitable<bool> write_all(tcp::socket& socket, asio::const_buffer bytes, deadline& patience,
                                std::chrono::milliseconds within) {
  constexpr std::size_t most_at_once = 64U << 10U;  // other clients have their turn in between
  bool written = true;
  while (written && bytes.size() > 0) {
    patience.arm(within);
    const auto part = asio::buffer(bytes, most_at_once);
    const auto [failure, taken] = co_await asio::async_write(socket, part, no_throw);
    bytes += taken;
    written = !failure;
  }
  patience.disarm();
  co_return written;
}

}  // namespace troupe::net
