#include "actors/net/closed_port.hpp"

namespace troupe::net {

std::vector<request_id> closed_port::generate_choices(generation_request_ptr request, choice_sink sink) {
  for (std::int32_t index = 0; index < request->n; ++index) {
    stream_event event;
    event.end.emplace();
    event.end->reason = finish_reason::error;
    event.end->failure = refusal();
    sink(index, std::move(event));
  }
  return std::vector<request_id>(static_cast<std::size_t>(request->n), 0);
}

void closed_port::tokenize(tokenize_request, std::function<void(result<tokenize_reply>)> reply) {
  reply(tl::unexpected<error>(refusal()));
}

void closed_port::detokenize(std::vector<token_id>, std::function<void(result<std::string>)> reply) {
  reply(tl::unexpected<error>(refusal()));
}

}  // namespace troupe::net
