#include "actors/net/tcp/tcp_server.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <map>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "tests/actors/net/scripted_engine_fixture.hpp"
#include "tests/actors/net/tcp/frame_client_fixture.hpp"
#include "tests/actors/net/tcp/tcp_server_fixture.hpp"

namespace troupe::net::testing {
namespace {

TEST_F(tcp_server_test, greets_with_its_version_and_limits) {
  const frame welcome = client.greet();
  EXPECT_EQ(welcome.type, frame_type::welcome);
  EXPECT_EQ(welcome.json(), nlohmann::json::parse(R"({"protocol":1,"server":"1.2.3","model":"test-model",
      "max_model_len":512,"max_frame_bytes":1048576,"max_streams":8})"));
}

TEST_F(tcp_server_test, generates_from_a_prompt_from_ids_and_from_messages) {
  client.greet();
  for (const std::string& body :
       {prompt, std::string(R"({"prompt":[1,2],"max_tokens":3})"),
        std::string(R"({"messages":[{"role":"user","content":"x"}],"max_tokens":3})")}) {
    client.send(frame_type::generate, 5, body);
    std::string text;
    std::size_t tokens = 0;
    frame next = client.read();
    for (; next.type == frame_type::delta; next = client.read()) {
      EXPECT_EQ(next.request, 5U);
      text += next.json()["text"];
      tokens += next.json()["token_ids"].size();
    }
    EXPECT_EQ(text, "word word word ");
    EXPECT_EQ(tokens, 3U);
    EXPECT_EQ(next.type, frame_type::finished);
    EXPECT_EQ(next.json()["finish_reason"], "length");
    EXPECT_EQ(next.json()["usage"]["completion_tokens"], 3);
    EXPECT_FALSE(next.json().contains("error"));
  }
}

TEST_F(tcp_server_by_hand, a_large_frame_is_read_like_a_small_one) {
  client.greet();
  const std::string text(100'000, 'a');
  client.send(frame_type::generate, 1, R"({"prompt":")" + text);
  EXPECT_EQ(client.read().type, frame_type::error);
  client.send(frame_type::generate, 1, R"({"max_tokens":1,"prompt":")" + text + "\"}");
  client.send(frame_type::ping, 0, "still here");
  EXPECT_EQ(client.read().type, frame_type::pong);
  const request_id id = engine.wait_for_request(1);
  EXPECT_EQ(std::get<text_prompt>(engine.request_of(id)->prompt).text, text);
  engine.emit(id, last_piece());
  EXPECT_EQ(client.read().type, frame_type::finished);
}

TEST_F(tcp_server_test, many_streams_share_one_connection) {
  client.greet();
  std::map<std::uint64_t, std::string> texts;
  for (std::uint64_t request = 1; request <= 8; ++request) {
    client.send(frame_type::generate, request,
                R"({"prompt":"x","max_tokens":)" + std::to_string(request * 3) + "}");
  }
  std::size_t running = 8;
  while (running > 0) {
    const frame next = client.read();
    ASSERT_TRUE(next.came);
    if (next.type == frame_type::delta) texts[next.request] += next.json()["text"];
    if (next.type == frame_type::finished) --running;
  }
  for (std::uint64_t request = 1; request <= 8; ++request) EXPECT_EQ(texts[request].size(), request * 15);
}

TEST_F(tcp_server_test, many_connections_stream_at_once) {
  std::vector<std::future<void>> clients;
  for (int i = 0; i < 16; ++i) {
    clients.push_back(std::async(std::launch::async, [this] {
      frame_client own(server.port());
      own.greet();
      for (std::uint64_t request = 1; request <= 4; ++request)
        own.send(frame_type::generate, request, prompt);
      std::size_t finished = 0;
      while (finished < 4) {
        const frame next = own.read();
        ASSERT_TRUE(next.came);
        if (next.type == frame_type::finished) ++finished;
      }
    }));
  }
  for (auto& each : clients) each.get();
  EXPECT_EQ(engine.aborts(), 0U);
}

TEST_F(tcp_server_test, frames_may_be_cut_anywhere) {
  client.greet();
  const std::string bytes = frame_bytes(frame_type::generate, 1, R"({"prompt":"hi","max_tokens":1})");
  for (std::size_t cut = 1; cut < bytes.size(); ++cut) {
    client.socket.send(bytes.substr(0, cut));
    std::this_thread::yield();
    client.socket.send(bytes.substr(cut));
    ASSERT_EQ(client.read().type, frame_type::delta) << cut;
    ASSERT_EQ(client.read().type, frame_type::finished) << cut;
  }
}

TEST_F(tcp_server_test, many_frames_may_come_at_once) {
  std::string bytes = frame_bytes(frame_type::hello, 0, R"({"protocol":1})");
  for (int i = 0; i < 50; ++i) bytes += frame_bytes(frame_type::ping, 0, std::to_string(i));
  client.socket.send(bytes);
  EXPECT_EQ(client.read().type, frame_type::welcome);
  for (int i = 0; i < 50; ++i) {
    const frame pong = client.read();
    EXPECT_EQ(pong.type, frame_type::pong);
    EXPECT_EQ(pong.payload, std::to_string(i));
  }
}

TEST_F(tcp_server_test, a_broken_conversation_ends_with_an_error_frame) {
  const std::string hello = frame_bytes(frame_type::hello, 0, R"({"protocol":1})");
  const std::vector<std::pair<std::string, std::string>> broken = {
      {"no hello first", frame_bytes(frame_type::generate, 1, prompt)},
      {"another version", frame_bytes(frame_type::hello, 0, R"({"protocol":2})")},
      {"hello without a version", frame_bytes(frame_type::hello, 0, "{}")},
      {"hello that is not JSON", frame_bytes(frame_type::hello, 0, "\xFF")},
      {"hello with a number", frame_bytes(frame_type::hello, 1, R"({"protocol":1})")},
      {"hello too long", frame_bytes(frame_type::hello, 0, std::string(5000, ' '))},
      {"an HTTP request", "GET / HTTP/1.1\r\nHost: x\r\n\r\n"},
      {"zeros", std::string(13, '\0')}};
  for (const auto& [about, bytes] : broken) {
    frame_client other(server.port());
    other.socket.send(bytes);
    expect_end(other, about);
  }
  const std::vector<std::pair<std::string, std::string>> broken_later = {
      {"hello twice", hello},
      {"an unknown type", frame_bytes(static_cast<frame_type>(0x77), 0, "")},
      {"a type of the server's", frame_bytes(frame_type::delta, 1, "{}")},
      {"request 0", frame_bytes(frame_type::generate, 0, prompt)},
      {"a ping with a number", frame_bytes(frame_type::ping, 3, "")},
      {"a ping too long", frame_bytes(frame_type::ping, 0, std::string(65, 'p'))},
      {"a cancel with a payload", frame_bytes(frame_type::cancel, 1, "x")},
      {"4 GiB announced", std::string("\xFF\xFF\xFF\xFF\x02\0\0\0\0\0\0\0\x01", 13)},
      {"one byte too many", frame_bytes(frame_type::generate, 1, std::string((1U << 20U) + 1, ' '))}};
  for (const auto& [about, bytes] : broken_later) {
    frame_client other(server.port());
    other.greet();
    other.socket.send(bytes);
    expect_end(other, about);
  }
}

TEST_F(tcp_server_test, a_wrong_request_is_refused_and_the_connection_goes_on) {
  client.greet();
  for (const char* body : {"", "{", "[]", "{}", R"({"prompt":""})", R"({"prompt":"x","temperature":-1})",
                           R"({"prompt":"x","model":"other"})", R"({"messages":[]})", "\xFF\xFF"}) {
    client.send(frame_type::generate, 9, body);
    const frame refusal = client.read();
    EXPECT_EQ(refusal.type, frame_type::error) << body;
    EXPECT_EQ(refusal.request, 9U);
  }
  client.send(frame_type::cancel, 77);
  EXPECT_EQ(client.read().json()["error"]["code"], "not_found");
  engine.set_status({true, false, "warming up"});
  client.send(frame_type::generate, 1, prompt);
  EXPECT_EQ(client.read().json()["error"]["code"], "unavailable");
  engine.set_status({.live = true,
                     .ready = false,
                     .reason = "the model runner is being replaced",
                     .waits_for_runner = true});
  client.send(frame_type::generate, 1, prompt);
  EXPECT_EQ(client.read().type, frame_type::delta);
}

TEST_F(tcp_server_test, random_bytes_harm_nobody) {
  std::mt19937 random(23);
  const std::string valid = frame_bytes(frame_type::hello, 0, R"({"protocol":1})") +
                            frame_bytes(frame_type::generate, 1, prompt) +
                            frame_bytes(frame_type::ping, 0, "x");
  for (int i = 0; i < 100; ++i) {
    std::string bytes = valid;
    for (auto edits = 1 + random() % 4; edits > 0; --edits) {
      bytes[random() % bytes.size()] = static_cast<char>(random());
    }
    frame_client other(server.port());
    other.socket.send(bytes);
    other.socket.finish_sending();
    other.socket.read_to_end();
  }
  EXPECT_EQ(client.greet().type, frame_type::welcome);
  engine.wait_until_idle();
}

TEST_F(tcp_server_by_hand, a_number_that_runs_is_refused_a_second_time_and_free_after_its_end) {
  client.greet();
  client.send(frame_type::generate, 1, prompt);
  const auto id = engine.wait_for_request(1);
  client.send(frame_type::generate, 1, prompt);
  EXPECT_EQ(client.read().type, frame_type::error);
  engine.emit(id, last_piece(finish_reason::stop, "x"));
  EXPECT_EQ(client.read().type, frame_type::delta);
  EXPECT_EQ(client.read().type, frame_type::finished);
  client.send(frame_type::generate, 1, prompt);
  engine.emit(engine.wait_for_request(2), last_piece());
  EXPECT_EQ(client.read().type, frame_type::finished);
  EXPECT_EQ(engine.aborts(), 0U);
}

TEST_F(tcp_server_by_hand, an_end_by_whoever_knows_nothing_of_the_stream_has_the_usage_that_was_told) {
  client.greet();
  client.send(frame_type::generate, 1, prompt);
  const auto id = engine.wait_for_request(1);
  stream_event first = piece("a");
  first.prompt_tokens = {5, 6, 7};
  engine.emit(id, first);
  EXPECT_EQ(client.read().type, frame_type::delta);
  engine.emit(id, failed({error_code::unavailable, "a part has ended"}));
  const frame last = client.read();
  EXPECT_EQ(last.type, frame_type::finished);
  EXPECT_EQ(last.json()["usage"]["prompt_tokens"], 3);
  EXPECT_EQ(last.json()["usage"]["completion_tokens"], 1);
}

TEST_F(tcp_server_by_hand, a_cancelled_request_still_finishes_once) {
  client.greet();
  client.send(frame_type::generate, 1, prompt);
  client.send(frame_type::generate, 2, prompt);
  const auto id = engine.wait_for_request(1);
  const auto other = engine.wait_for_request(2);
  client.send(frame_type::cancel, 1);
  engine.wait_for_abort(id);
  const frame end = client.read();
  EXPECT_EQ(end.type, frame_type::finished);
  EXPECT_EQ(end.request, 1U);
  EXPECT_EQ(end.json()["finish_reason"], "abort");
  engine.emit(other, last_piece());
  EXPECT_EQ(client.read().request, 2U);
  EXPECT_EQ(engine.aborts(), 1U);
}

TEST_F(tcp_server_by_hand, more_streams_than_allowed_are_refused) {
  client.greet();
  for (std::uint64_t request = 1; request <= 9; ++request) client.send(frame_type::generate, request, prompt);
  const frame refusal = client.read();
  EXPECT_EQ(refusal.request, 9U);
  EXPECT_EQ(refusal.json()["error"]["code"], "rate_limit_exceeded");
  EXPECT_EQ(refusal.json()["error"]["retry_after"], 1);
  EXPECT_EQ(engine.running(), 8U);
}

TEST_F(tcp_server_by_hand, a_failed_request_finishes_with_its_error) {
  client.greet();
  client.send(frame_type::generate, 1, prompt);
  engine.emit(engine.wait_for_request(1), failed({error_code::invalid_argument, "too long", "prompt"}));
  const frame end = client.read();
  EXPECT_EQ(end.type, frame_type::finished);
  EXPECT_EQ(end.json()["finish_reason"], "error");
  EXPECT_EQ(end.json()["error"]["param"], "prompt");
  EXPECT_FALSE(end.json()["error"].contains("retry_after"));
}

TEST_F(tcp_server_by_hand, a_refusal_that_passes_tells_when_to_try_again) {
  client.greet();
  client.send(frame_type::generate, 1, prompt);
  engine.emit(engine.wait_for_request(1), failed({error_code::resource_exhausted, "full", {}, 7}));
  const frame end = client.read();
  EXPECT_EQ(end.type, frame_type::finished);
  EXPECT_EQ(end.json()["error"]["retry_after"], 7);
}

TEST_F(tcp_server_by_hand, a_client_that_leaves_is_aborted_whole) {
  for (const int how : {0, 1, 2}) {
    frame_client leaver(server.port());
    leaver.greet();
    const auto before = engine.requests();
    for (std::uint64_t request = 1; request <= 3; ++request)
      leaver.send(frame_type::generate, request, prompt);
    engine.wait_for_request(before + 3);
    if (how == 0) leaver.socket.close();
    if (how == 1) leaver.socket.reset();
    if (how == 2) leaver.socket.finish_sending();
    for (std::size_t n = 1; n <= 3; ++n) engine.wait_for_abort(before + n);
  }
  EXPECT_EQ(engine.running(), 0U);
}

TEST(tcp_server, a_slow_reader_loses_its_connection_and_nobody_else_notices) {
  scripted_engine engine(pace::by_hand);
  tcp_options options = tcp_options_of_test();
  options.listen.send_buffer_bytes = 16384;
  options.limits.max_stream_buffer_bytes = 65536;
  tcp_server server = *tcp_server::start(options, engine);
  frame_client slow(server.port(), 4096);
  slow.greet();
  slow.send(frame_type::generate, 1, prompt);
  const auto id = engine.wait_for_request(1);
  frame_client quick(server.port());
  quick.greet();
  quick.send(frame_type::generate, 1, prompt);
  const auto quick_id = engine.wait_for_request(2);
  const std::string text(16384, 'x');
  while (engine.aborts() == 0) engine.emit(id, piece(text));
  engine.wait_for_abort(id);
  engine.emit(quick_id, last_piece(finish_reason::stop, "fine"));
  EXPECT_EQ(quick.read().json()["text"], "fine");
  EXPECT_TRUE(slow.socket.at_end());
  EXPECT_EQ(engine.running(), 0U);
}

TEST(tcp_server, a_flood_of_pings_without_reading_ends_the_connection) {
  scripted_engine engine;
  tcp_options options = tcp_options_of_test();
  options.listen.send_buffer_bytes = 16384;
  options.limits.max_stream_buffer_bytes = 65536;
  tcp_server server = *tcp_server::start(options, engine);
  frame_client flooder(server.port(), 4096);
  flooder.greet();
  std::string pings;
  for (int i = 0; i < 1000; ++i) pings += frame_bytes(frame_type::ping, 0, std::string(64, 'p'));
  while (flooder.socket.send(pings)) {
  }
  while (server.connections() > 0) std::this_thread::yield();
}

TEST(tcp_server, silence_has_its_limits) {
  scripted_engine engine(pace::by_hand);
  constexpr std::chrono::milliseconds brief{50};
  const auto start_with = [&](auto shorten) {
    tcp_options options = tcp_options_of_test();
    options.limits.header_timeout = options.limits.read_timeout = options.idle_timeout =
        std::chrono::seconds(60);
    shorten(options);
    return *tcp_server::start(options, engine);
  };
  tcp_server greeted = start_with([&](tcp_options& options) { options.limits.header_timeout = brief; });
  frame_client mute(greeted.port());
  EXPECT_EQ(expect_end(mute, "mute"), "no hello has come within 0.05 s");
  tcp_server busy = start_with([&](tcp_options& options) { options.idle_timeout = brief; });
  frame_client idle(busy.port());
  EXPECT_EQ(idle.greet().type, frame_type::welcome);
  EXPECT_EQ(expect_end(idle, "idle"), "nothing has come for 0.05 s, and nothing runs");
  tcp_server server = start_with([&](tcp_options& options) { options.limits.read_timeout = brief; });
  const std::string whole = frame_bytes(frame_type::generate, 2, prompt);
  std::size_t begun = 0;
  for (const std::size_t length : {std::size_t{1}, std::size_t{12}, whole.size() - 1}) {
    frame_client half(server.port());
    half.greet();
    half.send(frame_type::generate, 1, prompt);
    const request_id id = engine.wait_for_request(++begun);
    half.socket.send(whole.substr(0, length));
    EXPECT_EQ(expect_end(half, std::to_string(length)), "a frame has not come whole within 0.05 s");
    engine.wait_for_abort(id);
  }
}

TEST(tcp_server, a_silent_client_stays_while_the_engine_works_for_it) {
  scripted_engine engine(pace::by_hand);
  tcp_options options = tcp_options_of_test();
  options.idle_timeout = std::chrono::milliseconds(20);
  tcp_server server = *tcp_server::start(options, engine);
  frame_client client(server.port());
  client.greet();
  client.send(frame_type::generate, 1, prompt);
  const auto id = engine.wait_for_request(1);
  std::this_thread::sleep_for(std::chrono::milliseconds(100));  // several idle times
  engine.emit(id, last_piece());
  EXPECT_EQ(client.read().type, frame_type::finished);
}

TEST_F(tcp_server_test, gives_one_answer_without_its_prompt_per_number) {
  client.greet();
  for (const auto& [asked, param] :
       {std::pair{R"({"prompt":"hi","n":2})", "n"}, std::pair{R"({"prompt":["hi","ho"]})", "prompt"},
        std::pair{R"({"prompt":"hi","echo":true})", "echo"}}) {
    client.send(frame_type::generate, 1, asked);
    const frame refused = client.read();
    EXPECT_EQ(refused.type, frame_type::error);
    EXPECT_EQ(refused.request, 1U);
    EXPECT_EQ(refused.json()["error"]["param"], param);
  }
  client.send(frame_type::generate, 1,
              R"({"prompt":"hi","max_tokens":1,"priority":3,"user":"u","cache_salt":"s","timeout":9})");
  EXPECT_EQ(client.read().type, frame_type::delta);
  EXPECT_EQ(engine.request_of(1)->priority, 3);
  EXPECT_LE(engine.request_of(1)->timeout, std::chrono::seconds(9));  // what it took to read is over
  EXPECT_GT(engine.request_of(1)->timeout, std::chrono::seconds(0));
  EXPECT_EQ(engine.request_of(1)->user, "u");
  EXPECT_EQ(engine.request_of(1)->cache_salt, "s");
}

TEST(tcp_server, large_frames_share_one_bound_of_what_has_arrived) {
  scripted_engine engine;
  tcp_options options = tcp_options_of_test();
  options.max_buffered_bytes = 300'000;
  tcp_server server = *tcp_server::start(options, engine);
  const auto announce = [&](std::size_t sent) {
    frame_client client(server.port());
    client.greet();
    const std::string frame = frame_bytes(frame_type::generate, 1, std::string(180'000, 'a'));
    client.socket.send(std::string_view(frame).substr(0, wire::frame_header_bytes + sent));
    return client;
  };
  std::vector<frame_client> announcers;
  for (int i = 0; i < 8; ++i) announcers.push_back(announce(0));
  const std::string body = R"({"prompt":")" + std::string(60'000, 'a') + R"(","max_tokens":1})";
  frame_client client(server.port());
  client.greet();
  client.send(frame_type::generate, 1, body);
  EXPECT_EQ(client.read().type, frame_type::delta);
  announcers.push_back(announce(140'000));
  frame refused;
  while (refused.request != 0 || refused.type != frame_type::error) {  // until the 140,000 bytes have arrived
    frame_client other(server.port());
    other.greet();
    other.send(frame_type::generate, 1, body);
    refused = other.read();
    ASSERT_TRUE(refused.came);
  }
  EXPECT_EQ(refused.json()["error"]["code"], "rate_limit_exceeded");
}

TEST(tcp_server, connections_beyond_the_limit_are_told_so) {
  scripted_engine engine;
  tcp_options options = tcp_options_of_test();
  options.limits.max_connections = 1;
  tcp_server server = *tcp_server::start(options, engine);
  frame_client first(server.port());
  EXPECT_EQ(first.greet().type, frame_type::welcome);
  frame_client second(server.port());
  EXPECT_EQ(second.greet().json()["error"]["code"], "unavailable");
}

}  // namespace
}  // namespace troupe::net::testing
