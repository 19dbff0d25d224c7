#include "actors/net/connection.hpp"

#include <gtest/gtest.h>

#include <chrono>
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

TEST(write_all, has_patience_with_a_client_that_takes_its_time_but_takes) {
  asio::io_context context;
  tcp::acceptor acceptor(context, {asio::ip::address_v4::loopback(), 0});
  raw_client client(acceptor.local_endpoint().port(), 4096);
  tcp::socket socket = acceptor.accept();
  socket.set_option(tcp::socket::send_buffer_size(16384));
  deadline patience(context, [&] { socket.cancel(); });
  constexpr std::chrono::milliseconds within{1'000};
  const std::string text(16U << 20U, 'x');
  bool written = false;
  bool ended = false;
  asio::co_spawn(context, write_to(socket, text, patience, within, written),
                 [&](const std::exception_ptr&) { ended = true; });
  const auto begun = steady_clock::now();
  std::size_t taken = 0;
  while (context.poll(), !ended) {
    if (steady_clock::now() < begun + within + within / 2)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
    taken += client.read_exactly(4096).size();
  }
  EXPECT_GT(steady_clock::now(), begun + within) << "else nothing was shown";
  EXPECT_TRUE(written) << "after " << taken << " bytes";
}

}  // namespace
}  // namespace troupe::net::testing
