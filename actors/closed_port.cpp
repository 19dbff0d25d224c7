#include "actors/closed_port.hpp"

namespace troupe {
namespace {

error stopped() { return {error_code::unavailable, "the company has stopped"}; }

}  // namespace

std::vector<request_id> closed_port::generate_choices(generation_request_ptr request, net::choice_sink sink) {
  for (std::int32_t index = 0; index < request->n; ++index) {
    stream_event event;
    event.end.emplace();
    event.end->reason = finish_reason::error;
    event.end->failure = stopped();
    sink(index, std::move(event));
  }
  return std::vector<request_id>(static_cast<std::size_t>(request->n), 0);
}

void closed_port::tokenize(net::tokenize_request, std::function<void(result<net::tokenize_reply>)> reply) {
  reply(tl::unexpected<error>(stopped()));
}

void closed_port::detokenize(std::vector<token_id>, std::function<void(result<std::string>)> reply) {
  reply(tl::unexpected<error>(stopped()));
}

}  // namespace troupe
