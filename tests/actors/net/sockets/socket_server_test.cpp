#include "actors/net/sockets/socket_server.hpp"

#include "actors/net/sockets/refused_connection.hpp"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <ctime>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>

#include "tests/actors/net/captured_log_fixture.hpp"
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

// Stays until it is closed.
class lingerer : public connection {
 public:
  explicit lingerer(tcp::socket socket) : socket_(std::move(socket)) {}
  asio::awaitable<void> run() override {
    char nothing = 0;
    co_await asio::async_read(socket_, asio::buffer(&nothing, 1), no_throw);
  }
  void finish(const ending&) override { close(); }
  void close() override {
    asio_error ignored;
    socket_.close(ignored);
  }

 protected:
  const std::chrono::steady_clock::time_point came_ = std::chrono::steady_clock::now();

 private:
  tcp::socket socket_;
};

// Shows never who it is.
struct newcomer final : lingerer {
  using lingerer::lingerer;
  std::optional<std::chrono::steady_clock::time_point> unauthenticated_since() const override {
    return came_;
  }
};

// Waits for its client's next request.
struct waiter final : lingerer {
  using lingerer::lingerer;
  std::optional<std::chrono::steady_clock::time_point> idle_since() const override { return came_; }
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
  const auto server =
      *socket_server::start({}, 2,
                            {[&](asio::io_context&, tcp::socket socket) -> std::shared_ptr<connection> {
                               if (++made <= 4) return std::make_shared<stillborn>(alive);
                               return std::make_shared<greeter>(std::move(socket));
                             },
                             refuse_with(refusal)});
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
  const auto server =
      *socket_server::start({}, 8,
                            {[&](asio::io_context&, tcp::socket socket) -> std::shared_ptr<connection> {
                               if (++made <= 3) throw std::runtime_error("no luck");
                               return std::make_shared<greeter>(std::move(socket));
                             },
                             refuse_with(refusal)});
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
      {}, 0,
      {[](asio::io_context&, tcp::socket socket) { return std::make_shared<greeter>(std::move(socket)); },
       refuse_with([&] { return "refusal " + std::to_string(++told); })});
  for (int i = 1; i <= 3; ++i) {
    raw_client client(server->port());
    client.finish_sending();
    EXPECT_EQ(client.read_to_end(), "refusal " + std::to_string(i));
  }
}

TEST(socket_server, tells_now_and_then_in_the_log_that_clients_are_refused) {
  const captured_log log;
  const auto make = [](asio::io_context&, tcp::socket socket) {
    return std::make_shared<newcomer>(std::move(socket));
  };
  auto server = *socket_server::start({}, 1, {make, refuse_with(refusal)});
  const raw_client stays(server->port());
  for (int i = 0; i < 20; ++i) {
    raw_client refused(server->port());
    refused.finish_sending();
    EXPECT_EQ(refused.read_to_end(), "full");
  }
  const std::string line = "warning port " + std::to_string(server->port()) +
                           ": all 1 connections are taken: until one is free others are refused";
  server.reset();
  ASSERT_FALSE(log.lines().empty());
  EXPECT_EQ(log.lines()[0], line);
  EXPECT_LT(log.lines().size(), 10U) << "others can bring it about as often as they like";
}

TEST(socket_server, tells_what_its_thread_has_computed) {
  const auto make = [](asio::io_context&, tcp::socket socket) {
    return std::make_shared<greeter>(std::move(socket));
  };
  const auto server = *socket_server::start({}, 8, {make, refuse_with(refusal)});
  const auto compute = [] {
    const std::clock_t begun = std::clock();  // of the process: one of the two does
    while (std::clock() - begun < CLOCKS_PER_SEC / 5) {
    }
  };
  raw_client(server->port()).read_to_end();
  const double before = server->cpu_seconds();
  compute();
  EXPECT_LT(server->cpu_seconds(), before + 0.1) << "what others compute";
  server->post(compute);
  raw_client(server->port()).read_to_end();  // after that
  EXPECT_GT(server->cpu_seconds(), before + 0.1);
}

TEST(socket_server, closes_the_oldest_unauthenticated_connection_for_another_only_where_it_is_to) {
  const auto make = [](asio::io_context&, tcp::socket socket) {
    return std::make_shared<newcomer>(std::move(socket));
  };
  const auto strict = *socket_server::start({}, 1, {make, refuse_with(refusal)});
  raw_client stays(strict->port());
  raw_client refused(strict->port());
  refused.finish_sending();
  EXPECT_EQ(refused.read_to_end(), "full");
  const auto lenient = *socket_server::start({}, 1, {make, refuse_with(refusal)}, when_full::replace);
  raw_client goes(lenient->port());
  raw_client comes(lenient->port());
  EXPECT_EQ(goes.read_to_end(), "");
  comes.finish_sending();
  EXPECT_EQ(comes.read_to_end(), "") << "it was served";
}

TEST(socket_server, closes_an_idle_connection_for_another_only_where_it_is_to) {
  const captured_log log;
  const auto make = [](asio::io_context&, tcp::socket socket) {
    return std::make_shared<waiter>(std::move(socket));
  };
  const auto strict = *socket_server::start({}, 1, {make, refuse_with(refusal)});
  raw_client stays(strict->port());
  raw_client refused(strict->port());
  refused.finish_sending();
  EXPECT_EQ(refused.read_to_end(), "full");
  auto lenient = *socket_server::start({}, 1, {make, refuse_with(refusal)}, when_full::replace);
  raw_client goes(lenient->port());
  raw_client comes(lenient->port());
  EXPECT_TRUE(goes.at_end());
  comes.finish_sending();
  EXPECT_EQ(comes.read_to_end(), "") << "it was served";
  const std::string line = "warning port " + std::to_string(lenient->port()) +
                           ": all 1 connections are taken: those that are idle between two requests give way";
  lenient.reset();
  ASSERT_FALSE(log.lines().empty());
  EXPECT_EQ(log.lines().back(), line);
}

TEST(socket_server, closes_who_is_unauthenticated_rather_than_who_is_idle) {
  bool first = true;
  const auto make = [&](asio::io_context&, tcp::socket socket) -> std::shared_ptr<connection> {
    if (std::exchange(first, false)) return std::make_shared<waiter>(std::move(socket));
    return std::make_shared<newcomer>(std::move(socket));
  };
  const auto server = *socket_server::start({}, 2, {make, refuse_with(refusal)}, when_full::replace);
  raw_client idle(server->port());
  raw_client unauthenticated(server->port());
  raw_client another(server->port());
  EXPECT_TRUE(unauthenticated.at_end()) << "though it came later";
}

TEST(socket_server, lets_the_oldest_of_those_that_are_refused_go_for_another) {
  constexpr int most = 64;
  const auto server = *socket_server::start(
      {}, 0,
      {[](asio::io_context&, tcp::socket socket) { return std::make_shared<greeter>(std::move(socket)); },
       [](asio::io_context&, tcp::socket socket) { return std::make_shared<newcomer>(std::move(socket)); }});
  std::vector<raw_client> crowd;
  for (int i = 0; i < most; ++i) crowd.emplace_back(server->port());
  while (server->connections() < most) std::this_thread::yield();
  raw_client another(server->port());
  EXPECT_EQ(crowd.front().read_to_end(), "");
  EXPECT_EQ(server->connections(), std::size_t{most});
}

}  // namespace
}  // namespace troupe::net::testing
