// A gateway with a server from actors/net: the server has its own thread, the actor its streams.
#pragma once
#include <atomic>
#include <chrono>
#include <cstdint>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "actors/clients/actor_port.hpp"
#include "actors/clients/gateway.hpp"
#include "actors/lost_part.hpp"
#include "actors/net/options.hpp"
#include "runtime/result.hpp"

namespace troupe {

// Hears the port that a gateway listens on, or why it does not.
using gateway_started = std::shared_ptr<std::promise<result<std::uint16_t>>>;

template <class Server, class Options>
class socket_gateway_state : public gateway_state {
 public:
  using gateway_state::gateway_state;
  // Its clients are told, those too whose requests it has not read, and read it.
  ~socket_gateway_state() override {
    const error why = is_abandoned() ? shutting_down() : lost_part(error_code::unavailable);
    if (port_) port_->end_streams(why);
    if (server_) server_->close(time_to_read, why);
  }

  // Tells `started` once, whatever happens; without a server the actor quits.
  void listen(port_parts ports, Options options, std::promise<result<std::uint16_t>>& started) {
    result<std::uint16_t> listening = start_server(std::move(ports), std::move(options));
    if (!listening) self_->quit();
    started.set_value(std::move(listening));
  }

  // Also where it could not listen and is about to quit.
  void reload(const net::connection_limits& limits) override {
    if (server_) server_->change(limits);
  }

 private:
  // Meanwhile the thread of this actor waits.
  static constexpr std::chrono::milliseconds time_to_read{250};

  // No thread and no memory for one are thrown; a client of this gateway wants to be told like of a port in
  // use.
  result<std::uint16_t> start_server(port_parts ports, Options options) try {
    port_ = std::make_unique<actor_port>(gateway_actor(self_), std::move(ports));
    result<Server> server = Server::start(std::move(options), *port_);
    if (!server) return tl::unexpected<error>(std::move(server.error()));
    server_.emplace(std::move(*server));
    return server_->port();
  } catch (const std::exception& fault) {
    return fail(error_code::io_error, std::string("the gateway cannot start: ") + fault.what());
  }

  void close_connections() override {
    server_->drain([self = gateway_actor(self_), are_closed = are_closed_] {
      *are_closed = true;
      caf::anon_send(self, msg::connections_closed{});
    });
  }
  bool are_connections_closed() const override { return *are_closed_; }

  std::shared_ptr<std::atomic<bool>> are_closed_ = std::make_shared<std::atomic<bool>>(false);
  std::unique_ptr<actor_port> port_;
  std::optional<Server> server_;  // is closed before the port goes that it calls
};

}  // namespace troupe
