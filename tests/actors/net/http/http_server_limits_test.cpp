// Clients that take too much, or too long.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/actors/net/http/http_server_fixture.hpp"

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
    refused = client.post("/v1/completions", body);
    ASSERT_TRUE(refused.status == 503 || refused.status == 200);
  }
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  holder.close();
  while (server.connections() > 0) std::this_thread::yield();
  raw_client again(server.port());
  EXPECT_EQ(again.post("/v1/completions", body).status, 200);
}

TEST(http_server, tokens_that_their_client_does_not_read_count_like_a_body) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.listen.send_buffer_bytes = 16384;
  options.max_buffered_bytes = 700'000;
  http_server server = *http_server::start(options, engine);
  constexpr std::size_t count = 120'000;
  const std::string body = R"({"return_token_strs":true,"prompt":")" + std::string(count, 'a') + "\"}";
  raw_client slow(server.port(), 4096);
  slow.send(post_text("/tokenize", body));
  raw_answer refused;
  while (refused.status != 503) {  // until its tokens are there
    raw_client client(server.port());
    refused = client.post("/tokenize", body);
    ASSERT_TRUE(refused.status == 503 || refused.status == 200);
  }
  EXPECT_TRUE(refused.headers.contains("retry-after"));
  EXPECT_NE(refused.body.find("too many large bodies at the moment"), std::string::npos) << refused.body;
  const json tokens = json::parse(slow.read_answer().body);
  EXPECT_EQ(tokens["count"], count);
  EXPECT_EQ(tokens["tokens"].size(), count);
  EXPECT_EQ(tokens["token_strs"].back(), "t" + std::to_string(count - 1));
  EXPECT_EQ(slow.post("/tokenize", body).status, 200) << "the room is free again";
}

TEST(http_server, text_of_tokens_counts_like_a_body) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.max_buffered_bytes = 150'000;
  http_server server = *http_server::start(options, engine);
  raw_client client(server.port());
  const auto ask_for = [&](std::size_t count) {
    std::string ids = "1";
    while (ids.size() < 2 * count - 1) ids += ",1";
    return client.post("/detokenize", R"({"tokens":[)" + ids + "]}").status;
  };
  EXPECT_EQ(ask_for(40'000), 200);
  EXPECT_EQ(ask_for(60'000), 503);
  EXPECT_EQ(ask_for(40'000), 200);
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
  first.send("G");
  second.send("G");
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

TEST(http_server, each_of_a_crowd_beyond_the_limit_is_told_so_however_late_it_asks) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.max_connections = 1;
  http_server server = *http_server::start(options, engine);
  raw_client first(server.port());
  EXPECT_EQ(first.get("/livez").status, 200);
  first.send("G");
  std::vector<raw_client> crowd;
  for (int i = 0; i < 200; ++i) crowd.emplace_back(server.port());
  for (std::size_t i = 0; i < crowd.size(); ++i) {
    const raw_answer refused = crowd[i].get("/v1/models");
    EXPECT_EQ(refused.status, 503) << i;
    EXPECT_TRUE(refused.headers.contains("retry-after")) << i;
  }
}

TEST(http_server, a_connection_that_is_idle_between_two_requests_makes_room_for_another_the_longest_first) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.max_connections = 3;
  http_server server = *http_server::start(options, engine);
  std::vector<raw_client> clients;
  for (int i = 0; i < 3; ++i) clients.emplace_back(server.port());
  for (const std::size_t i : {1U, 2U, 0U}) EXPECT_EQ(clients[i].get("/livez").status, 200);
  for (const std::size_t gives_way : {1U, 2U}) {
    clients.emplace_back(server.port());
    EXPECT_EQ(clients.back().get("/v1/models").status, 200);
    EXPECT_TRUE(clients[gives_way].at_end());
  }
  EXPECT_EQ(clients.front().get("/livez").status, 200) << "others were idle for longer";
}

TEST(http_server, nobody_makes_room_for_another_who_has_something_to_wait_for) {
  scripted_engine engine(pace::by_hand);
  http_options options = options_of_test();
  options.limits.max_connections = 5;
  options.listen.send_buffer_bytes = 16384;
  http_server server = *http_server::start(options, engine);
  raw_client has_not_asked(server.port());
  raw_client asks(server.port());
  raw_client waits(server.port());
  raw_client reads(server.port());
  raw_client slow(server.port(), 4096);
  for (raw_client* client : {&asks, &waits, &reads, &slow}) EXPECT_EQ(client->get("/livez").status, 200);
  asks.send("GET /livez HTTP/1.1\r\n");
  waits.send(post_text("/v1/chat/completions", chat));
  const auto waited_for = engine.wait_for_request(1);
  reads.send(post_text("/v1/chat/completions", streamed_chat));
  const auto read = engine.wait_for_request(2);
  engine.emit(read, piece("a"));
  slow.send(post_text("/v1/chat/completions", chat));
  const std::string text(8U << 20U, 'x');
  engine.emit(engine.wait_for_request(3), last_piece(finish_reason::stop, text));
  for (int i = 0; i < 3; ++i) EXPECT_EQ(raw_client(server.port()).get("/v1/models").status, 503);
  asks.send("Host: a\r\n\r\n");
  EXPECT_EQ(asks.read_answer().status, 200);
  engine.emit(waited_for, last_piece());
  EXPECT_EQ(waits.read_answer().status, 200);
  engine.emit(read, last_piece(finish_reason::stop, "b"));
  EXPECT_EQ(streamed_text(reads.read_answer().body), "ab");
  EXPECT_EQ(json::parse(slow.read_answer().body)["choices"][0]["message"]["content"], text);
  EXPECT_EQ(has_not_asked.get("/livez").status, 200);
}

TEST(http_server, probes_beyond_the_limit_of_connections_are_answered_once) {
  scripted_engine engine;
  http_options options = options_of_test();
  options.limits.max_connections = 1;
  http_server server = *http_server::start(options, engine);
  raw_client first(server.port());
  EXPECT_EQ(first.get("/livez").status, 200);
  first.send("G");
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
  const std::string next = post_text("/tokenize", R"({"prompt":"a"})");
  client.send(next.substr(0, 1));
  second.send("G");
  raw_client third(server.port());
  EXPECT_EQ(third.get("/v1/models").status, 503) << "two are open already";
  client.send(next.substr(1));
  EXPECT_EQ(client.read_answer().status, 200);
  EXPECT_EQ(client.post("/tokenize", R"({"prompt":")" + std::string(3000, 'a') + "\"}").status, 413);
}

}  // namespace
}  // namespace troupe::net::testing
