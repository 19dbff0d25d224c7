#include "actors/clients/http_gateway.hpp"

#include <utility>

namespace troupe {

gateway_actor::behavior_type http_gateway_behavior(gateway_actor::stateful_pointer<http_gateway_state> self,
                                                   tokenizer_pool tokenizers, port_parts ports,
                                                   net::http_options options, gateway_started started) {
  const auto metrics = ports.metrics;
  self->state.start(std::move(tokenizers));
  // Before it listens: /metrics has to have a row for each message.
  auto handlers = gateway_handlers<http_gateway_state>(self, metrics);
  self->state.listen(std::move(ports), std::move(options), *started);
  return handlers;
}

}  // namespace troupe
