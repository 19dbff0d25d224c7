#include "actors/net/sockets/connection.hpp"

#include <gtest/gtest.h>

#include <cerrno>
#include <chrono>
#include <cstddef>
#include <exception>
#include <string>
#include <thread>

#include "tests/actors/net/raw_client_fixture.hpp"

namespace troupe::net::testing {
namespace {

using std::chrono::steady_clock;

asio::awaitable<void> write_to(tcp::socket& socket, const std::string& text, deadline& patience,
                               std::chrono::milliseconds within, bool& written) {
  written = co_await write_all(socket, asio::buffer(text), patience, within);
}

// Whether all is written to a client that takes 4 KiB in 20 ms for longer than `within`, and then the rest.
bool is_written_slowly(std::chrono::milliseconds within) {
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  raw_client client(acceptor.local_endpoint().port(), 4096);
  tcp::socket socket = acceptor.accept();
  socket.set_option(tcp::socket::send_buffer_size(16384));
  deadline patience(context, [&] { socket.cancel(); });
  const std::string text(16U << 20U, 'x');
  bool written = false;
  bool ended = false;
  asio::co_spawn(context, write_to(socket, text, patience, within, written),
                 [&](const std::exception_ptr&) { ended = true; });
  const auto begun = steady_clock::now();
  while (context.poll(), !ended) {
    if (steady_clock::now() < begun + within + within / 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    client.read_exactly(4096);
  }
  EXPECT_GT(steady_clock::now(), begun + within) << "else nothing was shown";
  return written;
}

TEST(write_all, has_patience_with_a_client_that_takes_its_time_but_takes) {
  // A machine that does nothing for so long is another matter.
  bool written = false;
  for (int tries = 0; tries < 3 && !written; ++tries) written = is_written_slowly(std::chrono::seconds(1));
  EXPECT_TRUE(written);
}

TEST(say_last, reaches_a_client_whose_request_was_not_read_though_the_connection_is_closed_at_once) {
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  for (const std::size_t asked : {0U, 1U, 10'000U}) {
    raw_client client(acceptor.local_endpoint().port());
    tcp::socket socket = acceptor.accept();
    client.send(std::string(asked, 'x'));
    while (socket.available() < asked) std::this_thread::yield();
    say_last(socket, "full");
    socket.close();
    errno = 0;
    EXPECT_EQ(client.read_to_end(), "full") << asked;
    EXPECT_EQ(errno, 0) << "no reset came: " << asked;
  }
}

}  // namespace
}  // namespace troupe::net::testing
