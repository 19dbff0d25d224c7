#include "actors/net/sockets/kept_listener.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "actors/net/http/http_server.hpp"
#include "actors/net/http/loading_server.hpp"
#include "tests/actors/net/raw_client_fixture.hpp"
#include "tests/actors/net/scripted_engine_fixture.hpp"

namespace troupe::net::testing {
namespace {

http_options at_listener(std::shared_ptr<kept_listener> kept, const std::string& host = "127.0.0.1") {
  http_options options;
  options.listen.host = host;
  options.listen.kept = std::move(kept);
  return options;
}

const std::string request_for_models = "GET /v1/models HTTP/1.1\r\nHost: x\r\n\r\n";

TEST(kept_listener, who_comes_between_two_servers_is_served_by_the_second) {
  for (const char* host : {"127.0.0.1", "::"}) {
    SCOPED_TRACE(host);
    scripted_engine engine;
    const auto kept = std::make_shared<kept_listener>();
    auto first = http_server::start(at_listener(kept, host), engine);
    if (!first && std::string(host) == "::") GTEST_SKIP() << "this machine has no IPv6";
    ASSERT_TRUE(first);
    const std::uint16_t port = first->port();
    for (int turn = 0; turn < 3; ++turn) {
      EXPECT_EQ(raw_client(port).get("/livez").status, 200);
      first->close();
      raw_client waits(port);
      ASSERT_TRUE(waits.send(request_for_models));
      auto second = http_server::start(at_listener(kept, host), engine);
      ASSERT_TRUE(second);
      EXPECT_EQ(second->port(), port);
      EXPECT_EQ(waits.read_answer().status, 200);
      first = std::move(second);
    }
  }
}

TEST(kept_listener, ends_with_the_last_server_once_it_is_closed) {
  scripted_engine engine;
  const auto kept = std::make_shared<kept_listener>();
  auto server = http_server::start(at_listener(kept), engine);
  ASSERT_TRUE(server);
  const std::uint16_t port = server->port();
  kept->close();
  EXPECT_EQ(raw_client(port).get("/livez").status, 200);
  server->close();
  EXPECT_FALSE(raw_client(port).send(request_for_models));
  const auto late = http_server::start(at_listener(kept), engine);
  ASSERT_FALSE(late) << "it is closed for good";
  EXPECT_EQ(late.error().code, error_code::unavailable);
}

TEST(kept_listener, of_the_loading_server_is_for_whoever_serves_after_it) {
  std::optional<loading_server> loading =
      *loading_server::start(at_listener(nullptr), {.id = "m"}, [] { return std::string(); });
  const std::uint16_t port = loading->port();
  const auto kept = loading->listener();
  raw_client says_nothing(port);
  raw_client asks_half(port);
  raw_client asks_late(port);
  EXPECT_EQ(raw_client(port).get("/livez").status, 200) << "those before it are taken by now";
  ASSERT_TRUE(asks_half.send("GET /livez HTTP/1.1\r\n"));
  std::thread late([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(20));
    asks_late.send(request_for_models);
  });
  loading.reset();
  late.join();
  EXPECT_EQ(asks_half.read_answer().status, 503);
  EXPECT_EQ(asks_late.read_answer().status, 200) << "it has connected before";
  EXPECT_TRUE(says_nothing.at_end());
  raw_client waits(port);
  ASSERT_TRUE(waits.send(request_for_models));
  scripted_engine engine;
  auto next = http_server::start(at_listener(kept), engine);
  ASSERT_TRUE(next);
  EXPECT_EQ(waits.read_answer().status, 200);
}

}  // namespace
}  // namespace troupe::net::testing
