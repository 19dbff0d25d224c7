#include "actors/net/sockets/refused_connection.hpp"

#include <utility>

#include "actors/net/http/http_message.hpp"

namespace troupe::net {

refused_connection::refused_connection(asio::io_context& context, tcp::socket socket, std::string words,
                                       std::chrono::milliseconds timeout)
    : socket_(std::move(socket)),
      words_(std::move(words)),
      timeout_(timeout),
      deadline_(context, [this] { close(); }) {}

asio::awaitable<void> refused_connection::run() {
  deadline_.arm(timeout_);
  co_await asio::async_write(socket_, asio::buffer(words_), no_throw);
  co_await linger(socket_, timeout_);
  deadline_.disarm();
  close();
}

void refused_connection::close() {
  asio_error ignored;
  socket_.close(ignored);
}

connection_factory refuse_with(std::function<std::string()> words) {
  constexpr std::chrono::milliseconds timeout{1'000};
  return [words = std::move(words), timeout](asio::io_context& context, tcp::socket socket) {
    return std::make_shared<refused_connection>(context, std::move(socket), words(), timeout);
  };
}

connection_factory refuse_over_http() {
  return refuse_with([] {
    request_line any;
    any.keep_alive = false;
    return serialize(error_response(too_many_connections), any);
  });
}

}  // namespace troupe::net
