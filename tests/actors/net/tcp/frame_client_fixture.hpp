// A client of the TCP protocol over plain blocking sockets.
#pragma once
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "runtime/wire/frame.hpp"
#include "tests/actors/net/raw_client_fixture.hpp"

namespace troupe::net::testing {

struct frame {
  bool came = false;  // false: the connection ended
  wire::frame_type type{};
  std::uint64_t request = 0;
  std::string payload;

  nlohmann::json json() const { return nlohmann::json::parse(payload, nullptr, false); }
};

std::string frame_bytes(wire::frame_type type, std::uint64_t request, std::string_view payload);

class frame_client {
 public:
  explicit frame_client(std::uint16_t port, int receive_buffer = 0) : socket(port, receive_buffer) {}

  bool send(wire::frame_type type, std::uint64_t request = 0, std::string_view payload = "");
  frame read();
  frame greet();  // hello and its answer

  raw_client socket;
};

}  // namespace troupe::net::testing
