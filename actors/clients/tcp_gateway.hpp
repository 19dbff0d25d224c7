// The gateway that speaks the framed TCP protocol.
#pragma once
#include "actors/clients/socket_gateway.hpp"
#include "actors/net/tcp/tcp_server.hpp"

namespace troupe {

class tcp_gateway_state : public socket_gateway_state<net::tcp_server, net::tcp_options> {
 public:
  static inline const char* name = "tcp_gateway";
  using socket_gateway_state::socket_gateway_state;
};

// Listens at once; `started` hears the port, or why not, and then the actor quits.
gateway_actor::behavior_type tcp_gateway_behavior(gateway_actor::stateful_pointer<tcp_gateway_state> self,
                                                  tokenizer_pool tokenizers, port_parts ports,
                                                  net::tcp_options options, gateway_started started);

}  // namespace troupe
