// What the connections of one HTTP server share.
#pragma once
#include <random>
#include <utility>

#include "actors/net/departed_requests.hpp"
#include "actors/net/engine_port.hpp"
#include "actors/net/http/request_directory.hpp"
#include "actors/net/options.hpp"
#include "actors/net/sockets/background_worker.hpp"
#include "actors/net/sockets/byte_budget.hpp"
#include "actors/net/sockets/memory_tidier.hpp"
#include "actors/net/telemetry/stranger_log.hpp"

namespace troupe::net {

// Lives on the io_context thread.
struct http_shared {
  http_shared(http_options chosen, engine_port& engine)
      : options(std::move(chosen)), port(engine), bodies(options.max_buffered_bytes) {}
  http_options options;
  engine_port& port;
  byte_budget bodies;
  background_worker background;  // for large bodies
  memory_tidier memory;          // after them
  request_directory requests;
  departed_requests departed;
  stranger_log strangers{"HTTP"};
  std::mt19937_64 random{std::random_device{}()};  // seeds for clients that give none, names of answers
};

}  // namespace troupe::net
