// A client that is answered a probe or a scrape, and anything else with words that are given: one beyond the
// limit of connections, so that a crowd does not make a service that is well look dead; one of the probes'
// port.
#pragma once
#include <string>

#include "actors/net/engine_port.hpp"
#include "actors/net/http/http_exchange.hpp"
#include "actors/net/http/http_message.hpp"
#include "actors/net/options.hpp"

namespace troupe::net {

class probe_connection final : public http_exchange {
 public:
  // `to_others`: who asks for anything else, or for nothing in time.
  probe_connection(asio::io_context& context, tcp::socket socket, const http_options& options,
                   const engine_port& port, http_response to_others);

 private:
  asio::awaitable<bool> serve_request() override;

  const engine_port& port_;
  const std::string version_;
  const http_response to_others_;
};

}  // namespace troupe::net
