#include "actors/closed_port.hpp"

namespace troupe {
namespace {

error stopped() { return {error_code::unavailable, "the company has stopped"}; }

}  // namespace

request_id closed_port::generate(generation_request_ptr, net::stream_sink sink) {
  stream_event event;
  event.end.emplace();
  event.end->reason = finish_reason::error;
  event.end->failure = stopped();
  sink(std::move(event));
  return 0;
}

void closed_port::tokenize(net::tokenize_request, std::function<void(result<net::tokenize_reply>)> reply) {
  reply(tl::unexpected<error>(stopped()));
}

void closed_port::detokenize(std::vector<token_id>, std::function<void(result<std::string>)> reply) {
  reply(tl::unexpected<error>(stopped()));
}

}  // namespace troupe
