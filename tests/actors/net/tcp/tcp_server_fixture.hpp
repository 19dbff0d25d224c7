// A server of the TCP protocol over a scripted engine, with a client of it.
#pragma once
#include <gtest/gtest.h>

#include <string>

#include "actors/net/tcp/tcp_server.hpp"
#include "tests/actors/net/scripted_engine_fixture.hpp"
#include "tests/actors/net/tcp/frame_client_fixture.hpp"

namespace troupe::net::testing {

using wire::frame_type;
using pace = scripted_engine::pace;

inline const std::string prompt = R"({"prompt":"hi","max_tokens":3})";

inline tcp_options tcp_options_of_test() {
  tcp_options options;
  options.version = "1.2.3";
  options.max_frame_bytes = 1U << 20U;
  options.max_streams = 8;
  return options;
}

struct tcp_server_test : ::testing::Test {
  scripted_engine engine;
  tcp_server server = *tcp_server::start(tcp_options_of_test(), engine);
  frame_client client{server.port()};
};

struct tcp_server_by_hand : ::testing::Test {
  scripted_engine engine{pace::by_hand};
  tcp_server server = *tcp_server::start(tcp_options_of_test(), engine);
  frame_client client{server.port()};
};

// The frame is the last one: an error of the connection, then its end. What it says.
inline std::string expect_end(frame_client& client, const std::string& about) {
  const frame last = client.read();
  EXPECT_EQ(last.type, frame_type::error) << about;
  EXPECT_EQ(last.request, 0U) << about;
  const std::string message = last.came ? last.json()["error"]["message"].get<std::string>() : "";
  EXPECT_FALSE(message.empty()) << about;
  EXPECT_TRUE(client.socket.at_end()) << about;
  return message;
}

}  // namespace troupe::net::testing
