// How connections of the TCP protocol end with their server: what runs, what is half sent, what is late.
#include <gtest/gtest.h>

#include <chrono>
#include <future>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "tests/actors/net/tcp/tcp_server_fixture.hpp"

namespace troupe::net::testing {
namespace {

const std::string second_frame = frame_bytes(frame_type::generate, 2, prompt);

struct tcp_server_at_its_end : tcp_server_by_hand {
  request_id begin_generation() {
    client.greet();
    client.send(frame_type::generate, 1, prompt);
    return engine.wait_for_request(1);
  }

  // It has come when this returns: the answer to what is in front of it has.
  void send_half_of_second_frame() {
    client.socket.send(frame_bytes(frame_type::ping, 0, "") + second_frame.substr(0, 20));
    EXPECT_EQ(client.read().type, frame_type::pong);
  }
};

TEST(tcp_server, closing_ends_live_streams) {
  scripted_engine engine(pace::by_hand);
  tcp_server server = *tcp_server::start(tcp_options_of_test(), engine);
  frame_client client(server.port());
  client.greet();
  client.send(frame_type::generate, 1, prompt);
  engine.wait_for_request(1);
  const stream_sink late = engine.sink_of(1);
  server.close();
  EXPECT_EQ(engine.aborts(), 1U);
  EXPECT_TRUE(client.socket.at_end());
  late(piece("too late"));
}

TEST(tcp_server, draining_lets_streams_end_and_refuses_new_ones) {
  scripted_engine engine(pace::by_hand);
  tcp_server server = *tcp_server::start(tcp_options_of_test(), engine);
  frame_client idle(server.port());
  idle.greet();
  frame_client busy(server.port());
  busy.greet();
  busy.send(frame_type::generate, 1, prompt);
  const auto id = engine.wait_for_request(1);
  std::promise<void> done;
  server.drain([&done] { done.set_value(); });
  EXPECT_TRUE(idle.socket.at_end());
  busy.send(frame_type::generate, 2, prompt);
  EXPECT_EQ(busy.read().json()["error"]["code"], "unavailable");
  engine.emit(id, last_piece(finish_reason::stop, "done"));
  EXPECT_EQ(busy.read().json()["text"], "done");
  EXPECT_EQ(busy.read().type, frame_type::finished);
  EXPECT_TRUE(busy.socket.at_end());
  done.get_future().wait();
}

TEST_F(tcp_server_at_its_end, a_frame_that_has_not_come_whole_is_told_why_the_server_closes) {
  const std::string whole = frame_bytes(frame_type::generate, 1, prompt);
  std::vector<std::unique_ptr<frame_client>> clients;
  for (const std::size_t cut : {std::size_t{3}, whole.size() - 1}) {
    clients.push_back(std::make_unique<frame_client>(server.port()));
    clients.back()->greet();
    clients.back()->socket.send(whole.substr(0, cut));
  }
  client.greet();  // was read behind the others
  const error why{error_code::unavailable, "its gateway has ended"};
  server.close(std::chrono::seconds(2), why);
  for (const auto& each : clients) {
    const frame last = each->read();
    EXPECT_EQ(last.type, frame_type::error);
    EXPECT_EQ(last.request, 0U);
    EXPECT_EQ(last.json()["error"]["message"], why.message);
    EXPECT_TRUE(each->socket.at_end());
  }
  EXPECT_TRUE(client.socket.at_end());
}

TEST_F(tcp_server_at_its_end, a_frame_that_comes_whole_while_the_server_drains_is_answered_before_the_end) {
  client.greet();
  const std::string whole = frame_bytes(frame_type::generate, 1, prompt);
  client.socket.send(whole.substr(0, 20));
  frame_client last(server.port());
  last.greet();
  std::promise<void> done;
  server.drain([&done] { done.set_value(); });
  client.socket.send(whole.substr(20));
  const frame answer = client.read();
  EXPECT_EQ(answer.type, frame_type::error);
  EXPECT_EQ(answer.request, 1U);
  EXPECT_EQ(answer.json()["error"]["message"], draining_reason);
  EXPECT_TRUE(client.socket.at_end());
  done.get_future().wait();
}

TEST_F(tcp_server_at_its_end, the_word_of_a_frame_that_does_not_come_whole_is_the_last_one) {
  const request_id id = begin_generation();
  client.socket.send(frame_bytes(frame_type::generate, 2, prompt).substr(0, 20));
  frame_client last(server.port());
  last.greet();  // is read behind it
  std::promise<void> done;
  server.drain([&done] { done.set_value(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // longer than a rest is waited for
  engine.emit(id, last_piece(finish_reason::stop, "x"));
  EXPECT_EQ(client.read().type, frame_type::delta);
  EXPECT_EQ(client.read().type, frame_type::finished);
  expect_end(client, "the half frame");
  client.socket.close();
  done.get_future().wait();
}

TEST_F(tcp_server_at_its_end, a_frame_that_begins_while_the_server_drains_has_its_time_and_its_word) {
  const request_id id = begin_generation();
  std::promise<void> done;
  server.drain([&done] { done.set_value(); });
  send_half_of_second_frame();
  engine.emit(id, last_piece(finish_reason::stop, "x"));
  EXPECT_EQ(client.read().type, frame_type::delta);
  EXPECT_EQ(client.read().type, frame_type::finished);
  expect_end(client, "the half frame");
  client.socket.close();
  done.get_future().wait();
}

TEST_F(tcp_server_at_its_end, frames_behind_a_late_one_are_handled_while_something_runs) {
  const request_id id = begin_generation();
  send_half_of_second_frame();
  std::promise<void> done;
  server.drain([&done] { done.set_value(); });
  std::this_thread::sleep_for(std::chrono::milliseconds(700));  // longer than a rest is waited for
  client.socket.send(second_frame.substr(20));
  const frame late = client.read();
  EXPECT_EQ(late.type, frame_type::error);
  EXPECT_EQ(late.request, 2U);
  client.send(frame_type::ping, 0, "still here");
  EXPECT_EQ(client.read().type, frame_type::pong);
  client.send(frame_type::cancel, 1, "");
  engine.wait_for_abort(id);
  engine.emit(id, last_piece(finish_reason::abort, ""));
  EXPECT_EQ(client.read().type, frame_type::finished);
  EXPECT_TRUE(client.socket.at_end());
  done.get_future().wait();
}

TEST(tcp_server, a_client_that_was_told_the_end_and_stays_holds_no_drain_up) {
  scripted_engine engine(pace::by_hand);
  tcp_options options = tcp_options_of_test();
  options.linger_timeout = std::chrono::milliseconds(300);
  tcp_server server = *tcp_server::start(options, engine);
  frame_client client(server.port());
  client.greet();
  client.send(frame_type::welcome, 0, "");  // not a client's to send
  expect_end(client, "a wrong frame");
  std::promise<void> done;
  server.drain([&done] { done.set_value(); });
  EXPECT_EQ(done.get_future().wait_for(std::chrono::seconds(20)), std::future_status::ready);
}

}  // namespace
}  // namespace troupe::net::testing
