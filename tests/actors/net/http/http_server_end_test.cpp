// How an HTTP server ends.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <vector>

#include "tests/actors/net/http/http_server_fixture.hpp"

namespace troupe::net::testing {
namespace {

TEST(http_server, closing_ends_live_streams_and_late_events_are_harmless) {
  scripted_engine engine(pace::by_hand);
  stream_sink late;
  {
    http_server server = *http_server::start(options_of_test(), engine);
    raw_client streaming(server.port());
    raw_client waiting(server.port());
    streaming.send(post_text("/v1/chat/completions", streamed_chat));
    const auto first = engine.wait_for_request(1);
    engine.emit(first, piece("x"));
    waiting.send(post_text("/v1/chat/completions", chat));
    engine.wait_for_request(2);
    late = engine.sink_of(first);
    server.close();
    server.close();
    EXPECT_EQ(engine.aborts(), 2U);
    EXPECT_TRUE(streaming.at_end());
    EXPECT_TRUE(waiting.at_end());
  }
  late(piece("too late"));
}

TEST(http_server, draining_ends_idle_connections_and_lets_answers_end) {
  scripted_engine engine(pace::by_hand);
  http_server server = *http_server::start(options_of_test(), engine);
  raw_client idle(server.port());
  EXPECT_EQ(idle.get("/livez").status, 200);
  raw_client busy(server.port());
  busy.send(post_text("/v1/chat/completions", chat));
  const auto id = engine.wait_for_request(1);
  std::promise<void> done;
  server.drain([&done] { done.set_value(); });
  EXPECT_TRUE(idle.at_end());
  engine.emit(id, last_piece(finish_reason::stop, "done"));
  const auto answer = busy.read_answer();
  EXPECT_EQ(answer.status, 200);
  EXPECT_EQ(answer.headers.at("connection"), "close");
  done.get_future().wait();
  raw_client late(server.port());
  const auto told = late.get("/livez");
  EXPECT_EQ(told.status, 200);
  EXPECT_EQ(told.headers.at("connection"), "close");
  EXPECT_TRUE(late.at_end());
  raw_client silent(server.port());
  EXPECT_TRUE(silent.at_end());
  EXPECT_EQ(engine.aborts(), 0U);
}

// Clients whose requests have not come whole.
struct half_sent : ::testing::Test {
  half_sent() {
    const std::string whole = post_text("/tokenize", R"({"prompt":"x"})");
    const std::string chunk = "POST /tokenize HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab";
    for (const std::string& part : {whole.substr(0, 30), whole.substr(0, whole.size() - 1), chunk}) {
      clients.push_back(std::make_unique<raw_client>(server.port()));
      clients.back()->send(part);
    }
    // The last one to be read: what came before it has been read, too.
    raw_client last(server.port());
    EXPECT_EQ(last.get("/livez").status, 200);
  }
  void expect_refused(const std::string& why) {
    for (const auto& client : clients) {
      const auto answer = client->read_answer();
      EXPECT_EQ(answer.status, 503);
      EXPECT_TRUE(answer.headers.contains("retry-after"));
      EXPECT_NE(answer.body.find(why), std::string::npos) << answer.body;
      EXPECT_TRUE(client->at_end());
      client->close();
    }
  }
  static http_options patient() {
    http_options options = options_of_test();
    options.limits.header_timeout = options.limits.read_timeout = std::chrono::hours(1);
    return options;
  }

  scripted_engine engine;
  http_server server = *http_server::start(patient(), engine);
  std::vector<std::unique_ptr<raw_client>> clients;
};

TEST_F(half_sent, requests_are_refused_where_the_server_drains) {
  std::promise<void> done;
  server.drain([&done] { done.set_value(); });
  expect_refused("shutting down");
  done.get_future().wait();
}

TEST_F(half_sent, requests_are_told_why_the_server_closes) {
  server.close(std::chrono::seconds(2), {error_code::unavailable, "its gateway has ended"});
  expect_refused("its gateway has ended");
}

TEST(http_server, a_server_can_start_where_another_has_ended) {
  scripted_engine engine;
  http_options options = options_of_test();
  for (int i = 0; i < 5; ++i) {
    auto server = http_server::start(options, engine);
    ASSERT_TRUE(server.has_value()) << server.error().message;
    options.listen.port = server->port();
    raw_client client(server->port());
    EXPECT_EQ(client.get("/livez").status, 200);
  }
}

}  // namespace
}  // namespace troupe::net::testing
