#include "actors/net/socket_server.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <new>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "tests/actors/net/raw_client_fixture.hpp"

namespace troupe::net::testing {
namespace {

// Says a word and ends.
class greeter final : public connection {
 public:
  explicit greeter(tcp::socket socket) : socket_(std::move(socket)) {}
  asio::awaitable<void> run() override {
    const std::string word = "hello";
    co_await asio::async_write(socket_, asio::buffer(word), no_throw);
  }
  void finish(const ending&) override { close(); }
  void close() override {
    asio_error ignored;
    socket_.close(ignored);
  }

 private:
  tcp::socket socket_;
};

// Cannot even begin: as where there is no memory for a coroutine.
class stillborn final : public connection {
 public:
  explicit stillborn(std::atomic<int>& alive) : alive_(alive) { ++alive_; }
  ~stillborn() override { --alive_; }
  asio::awaitable<void> run() override { throw std::bad_alloc(); }
  void finish(const ending&) override {}
  void close() override {}

 private:
  std::atomic<int>& alive_;
};

std::string refusal() { return "full"; }

TEST(socket_server, a_connection_that_cannot_begin_leaves_nothing_behind) {
  std::atomic<int> alive = 0;
  std::atomic<int> made = 0;
  const auto server = *socket_server::start(
      {}, 2, refusal, [&](asio::io_context&, tcp::socket socket) -> std::shared_ptr<connection> {
        if (++made <= 4) return std::make_shared<stillborn>(alive);
        return std::make_shared<greeter>(std::move(socket));
      });
  for (int i = 0; i < 4; ++i) {
    raw_client client(server->port());
    EXPECT_EQ(client.read_to_end(), "");
  }
  raw_client client(server->port());
  EXPECT_EQ(client.read_to_end(), "hello") << "lost connections must not count towards the limit";
  EXPECT_EQ(alive, 0);
}

TEST(socket_server, goes_on_accepting_after_any_failure_to_serve_a_client) {
  std::atomic<int> made = 0;
  const auto server = *socket_server::start(
      {}, 8, refusal, [&](asio::io_context&, tcp::socket socket) -> std::shared_ptr<connection> {
        if (++made <= 3) throw std::runtime_error("no luck");
        return std::make_shared<greeter>(std::move(socket));
      });
  for (int i = 0; i < 3; ++i) {
    raw_client client(server->port());
    EXPECT_EQ(client.read_to_end(), "");
  }
  raw_client client(server->port());
  EXPECT_EQ(client.read_to_end(), "hello");
}

TEST(socket_server, tells_each_client_beyond_the_limit_afresh) {
  std::atomic<int> told = 0;
  const auto server = *socket_server::start(
      {}, 0, [&] { return "refusal " + std::to_string(++told); },
      [](asio::io_context&, tcp::socket socket) { return std::make_shared<greeter>(std::move(socket)); });
  for (int i = 1; i <= 3; ++i) {
    raw_client client(server->port());
    client.finish_sending();
    EXPECT_EQ(client.read_to_end(), "refusal " + std::to_string(i));
  }
}

}  // namespace
}  // namespace troupe::net::testing
