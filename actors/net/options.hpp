// What a gateway is told at its start. Every limit stands between a stranger and memory, time or descriptors.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "actors/net/telemetry/request_observer.hpp"

namespace troupe::net {

class kept_listener;
class keys_in_force;

struct listen_options {
  std::string host = "127.0.0.1";
  std::uint16_t port = 0;     // 0: any free one
  int send_buffer_bytes = 0;  // of the socket; 0: the system's own choice
  // Has the socket, and is closed by a company that serves there when it stops; null: it ends with the
  // server.
  std::shared_ptr<kept_listener> kept = {};
};

// What may change while a server works: connections and requests to come go by it. Each protocol takes what
// it has. Times are from the first byte to the last.
struct connection_limits {
  std::size_t max_connections = 1024;
  std::size_t max_body_bytes = 32U << 20U;           // HTTP
  std::size_t max_stream_buffer_bytes = 4U << 20U;   // unsent output of one stream; TCP: of one connection
  std::chrono::milliseconds header_timeout{10'000};  // TCP: the greeting
  std::chrono::milliseconds read_timeout{30'000};    // a body, a frame
  std::chrono::milliseconds write_timeout{30'000};
  std::chrono::milliseconds idle_timeout{75'000};  // HTTP: between two requests
};

struct http_options {
  listen_options listen;
  // A port of its own for probes and scrapes, and nothing else, which no crowd of clients is in the way of.
  std::optional<listen_options> probes = {};
  connection_limits limits;
  std::string version;  // of the program
  std::int32_t max_logprobs = 20;
  // Who has none of them is refused (keys_in_force.hpp); null: nobody is.
  std::shared_ptr<const keys_in_force> keys = {};
  // Whose pages browsers let use the API; "*" alone: all; as read_origins() has
  // them (cross_origin.hpp).
  std::vector<std::string> cors_origins = {};
  request_observers observers = {};  // hear of each request when it has ended
  std::size_t max_header_bytes = 16U << 10U;
  std::size_t max_buffered_bytes = 256U << 20U;     // bodies of all connections together
  std::chrono::milliseconds linger_timeout{2'000};  // for a refused client to read why
};

struct tcp_options {
  listen_options listen;
  connection_limits limits;
  std::string version;
  std::int32_t max_logprobs = 20;
  std::shared_ptr<const keys_in_force> keys = {};  // who has none of them is refused; null: nobody is
  request_observers observers = {};                // hear of each request when it has ended
  std::size_t max_frame_bytes = 32U << 20U;
  std::size_t max_buffered_bytes = 256U << 20U;     // frames of all connections together
  std::size_t max_streams = 256;                    // at once on one connection
  std::chrono::milliseconds idle_timeout{300'000};  // without a frame and without a stream
  std::chrono::milliseconds linger_timeout{2'000};
};

// The operators' port.
struct admin_options {
  listen_options listen;
  connection_limits limits{.max_connections = 64,  // operators are few
                           .max_body_bytes = 64U << 10U,
                           .read_timeout = std::chrono::seconds(10),
                           .write_timeout = std::chrono::seconds(10)};
  // Until a connection has shown the right key: strangers must not hold the places of operators.
  std::chrono::milliseconds stranger_timeout{5'000};
  std::chrono::milliseconds reply_timeout{30'000};  // for the actors to tell
  std::chrono::milliseconds linger_timeout{1'000};  // for who is refused to read why
};

}  // namespace troupe::net
