// The gateway that speaks HTTP.
#pragma once
#include "actors/clients/socket_gateway.hpp"
#include "actors/net/http/http_server.hpp"

namespace troupe {

class http_gateway_state : public socket_gateway_state<net::http_server, net::http_options> {
 public:
  static inline const char* name = "http_gateway";
  using socket_gateway_state::socket_gateway_state;
};

// Listens at once; `started` hears the port, or why not, and then the actor quits.
gateway_actor::behavior_type http_gateway_behavior(gateway_actor::stateful_pointer<http_gateway_state> self,
                                                   tokenizer_pool tokenizers, port_parts ports,
                                                   net::http_options options, gateway_started started);

}  // namespace troupe
