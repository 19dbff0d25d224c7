// Clients that take too much, or too long.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/actors/net/http_server_fixture.hpp"

namespace troupe::net::testing {
namespace {

TEST(http_server, a_slow_reader_loses_its_stream_and_nobody_else_notices) {
  scripted_engine engine(pace::by_hand);
  http_options options = options_of_test();
  options.listen.send_buffer_bytes = 16384;
  options.limits.max_stream_buffer_bytes = 65536;
  http_server server = *http_server::start(options, engine);
  raw_client slow(server.port(), 4096);
  slow.send(post_text("/v1/chat/completions", streamed_chat));
  const auto id = engine.wait_for_request(1);
  raw_client quick(server.port());
  quick.send(post_text("/v1/chat/completions", streamed_chat));
  const auto quick_id = engine.wait_for_request(2);
  const std::string text(16384, 'x');
  while (engine.aborts() == 0) engine.emit(id, piece(text));
  engine.wait_for_abort(id);
  engine.emit(quick_id, piece("fine"));
  engine.emit(quick_id, last_piece());
  EXPECT_EQ(streamed_text(quick.read_answer().body), "fine");
  EXPECT_TRUE(slow.at_end());
  quick.close();
  while (server.connections() > 0) std::this_thread::yield();
  EXPECT_EQ(engine.running(), 0U);
}

TEST(http_server, a_client_that_never_reads_its_answer_is_closed) {
  scripted_engine engine(pace::by_hand);
  http_options options = options_of_test();
  options.listen.send_buffer_bytes = 16384;
  options.limits.write_timeout = std::chrono::milliseconds(50);
  http_server server = *http_server::start(options, engine);
  raw_client client(server.port(), 4096);
  client.send(post_text("/v1/chat/completions", chat));
  engine.emit(engine.wait_for_request(1), last_piece(finish_reason::stop, std::string(8U << 20U, 'x')));
  while (server.connections() > 0) std::this_thread::yield();
  EXPECT_EQ(engine.running(), 0U);
}

TEST(http_server, half_a_request_is_closed_in_time) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.header_timeout = options.limits.read_timeout = std::chrono::milliseconds(50);
  http_server server = *http_server::start(options, engine);
  const std::string whole = post_text("/v1/completions", R"({"prompt":"x"})");
  for (const std::size_t length : {std::size_t{1}, std::size_t{30}, whole.size() - 1}) {
    raw_client client(server.port());
    client.send(whole.substr(0, length));
    EXPECT_EQ(client.read_answer().status, 408) << length;
    EXPECT_TRUE(client.at_end());
  }
}

TEST(http_server, an_idle_connection_is_closed_in_time) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.idle_timeout = std::chrono::milliseconds(50);
  http_server server = *http_server::start(options, engine);
  raw_client silent(server.port());
  EXPECT_TRUE(silent.at_end());
  raw_client client(server.port());
  EXPECT_EQ(client.get("/livez").status, 200);
  EXPECT_TRUE(client.at_end());
}

TEST_F(http_server_by_hand, a_large_body_is_read_like_a_small_one) {
  const std::string text(100'000, 'a');
  client.send(post_text("/v1/completions", R"({"max_tokens":1,"prompt":")" + text + "\"}"));
  const request_id id = engine.wait_for_request(1);
  EXPECT_EQ(std::get<text_prompt>(engine.request_of(id)->prompt).text, text);
  engine.emit(id, last_piece(finish_reason::stop, "short"));
  EXPECT_EQ(json::parse(client.read_answer().body)["choices"][0]["text"], "short");
  EXPECT_EQ(client.post("/v1/completions", R"({"prompt":")" + text).status, 400);  // not JSON
  EXPECT_EQ(client.post("/v1/completions", R"({"prompt":1,"user":")" + text + "\"}").status, 400);
  EXPECT_EQ(client.post("/tokenize", R"({"prompt":")" + text + "\"}").status, 200);
}

TEST(http_server, large_bodies_share_one_bound) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.max_buffered_bytes = 200'000;
  http_server server = *http_server::start(options, engine);
  raw_client holder(server.port());
  holder.send("POST /tokenize HTTP/1.1\r\nContent-Length: 95000\r\n\r\n" + std::string(90'000, 'a'));
  const std::string body = R"({"prompt":")" + std::string(120'000, 'a') + "\"}";
  raw_answer refused;
  while (refused.status != 503) {  // until what the holder sent has arrived
    raw_client client(server.port());
    refused = client.post("/tokenize", body);
    ASSERT_TRUE(refused.status == 503 || refused.status == 200);
  }
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  holder.close();
  while (server.connections() > 0) std::this_thread::yield();
  raw_client again(server.port());
  EXPECT_EQ(again.post("/tokenize", body).status, 200);
}

TEST(http_server, a_body_that_is_announced_and_never_sent_takes_no_room) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.max_buffered_bytes = 100'000;
  http_server server = *http_server::start(options, engine);
  std::vector<raw_client> announcers;
  for (int i = 0; i < 8; ++i) {
    announcers.emplace_back(server.port());
    announcers.back().send(
        "POST /tokenize HTTP/1.1\r\nContent-Length: 1000000\r\nExpect: 100-continue\r\n\r\n");
    EXPECT_EQ(announcers.back().read_answer().status, 100);
  }
  raw_client client(server.port());
  EXPECT_EQ(client.post("/tokenize", R"({"prompt":")" + std::string(20'000, 'a') + "\"}").status, 200);
}

TEST(http_server, connections_beyond_the_limit_are_told_so) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.max_connections = 2;
  http_server server = *http_server::start(options, engine);
  raw_client first(server.port());
  raw_client second(server.port());
  EXPECT_EQ(first.get("/livez").status, 200);
  EXPECT_EQ(second.get("/livez").status, 200);
  for (const char* path : {"/v1/models", "/version", "/nothing"}) {
    raw_client third(server.port());
    const raw_answer refused = third.get(path);
    EXPECT_EQ(refused.status, 503) << path;
    EXPECT_NE(refused.body.find("too many connections at the moment"), std::string::npos) << refused.body;
    EXPECT_TRUE(third.at_end());
  }
  raw_client sends(server.port());
  EXPECT_EQ(sends.post("/tokenize", R"({"prompt":")" + std::string(100'000, 'a') + "\"}").status, 503);
  raw_client silent(server.port());
  EXPECT_EQ(silent.read_answer().status, 503) << "told so, too";
  first.close();
  sends.close();
  silent.close();
  while (server.connections() > 1) std::this_thread::yield();
  raw_client fourth(server.port());
  EXPECT_EQ(fourth.get("/v1/models").status, 200);
}

TEST(http_server, probes_beyond_the_limit_of_connections_are_answered_once) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.max_connections = 1;
  http_server server = *http_server::start(options, engine);
  raw_client first(server.port());
  EXPECT_EQ(first.get("/livez").status, 200);
  for (int round = 0; round < 100; ++round)
    for (const char* path : {"/livez", "/readyz", "/health", "/metrics"}) {
      raw_client probe(server.port());
      EXPECT_EQ(probe.get(path).status, 200) << path;
      EXPECT_TRUE(probe.at_end()) << "it takes no place of a client's";
    }
  raw_client odd(server.port());
  EXPECT_EQ(odd.post("/livez", "{}").status, 405);
}

TEST_F(http_server_test, goes_by_new_limits_and_keeps_the_connections_that_are_open) {
  EXPECT_EQ(client.post("/tokenize", R"({"prompt":")" + std::string(3000, 'a') + "\"}").status, 200);
  raw_client second(server.port());
  EXPECT_EQ(second.get("/livez").status, 200);
  server.change({.max_connections = 1, .max_body_bytes = 2048});
  while (second.post("/tokenize", R"({"prompt":")" + std::string(3000, 'a') + "\"}").status == 200) {
  }
  raw_client third(server.port());
  EXPECT_EQ(third.get("/v1/models").status, 503) << "two are open already";
  EXPECT_EQ(client.post("/tokenize", R"({"prompt":"a"})").status, 200);
  EXPECT_EQ(client.post("/tokenize", R"({"prompt":")" + std::string(3000, 'a') + "\"}").status, 413);
}

}  // namespace
}  // namespace troupe::net::testing
