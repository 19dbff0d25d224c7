#include "actors/net/closed_port.hpp"

#include <utility>

#include "actors/net/call_back.hpp"

namespace troupe::net {

std::vector<request_id> closed_port::generate_choices(generation_request_ptr request, choice_sink sink) {
  if (auto fault = fault_of(request)) {
    call_back(sink, 0, refused_stream(std::move(*fault)));
    return {0};
  }
  for (std::int32_t index = 0; index < request->n; ++index) call_back(sink, index, refused_stream(refusal()));
  return std::vector<request_id>(static_cast<std::size_t>(request->n), 0);
}

void closed_port::tokenize(tokenize_request, std::function<void(result<tokenize_reply>)> reply) {
  call_back(reply, tl::unexpected<error>(refusal()));
}

void closed_port::detokenize(std::vector<token_id>, std::function<void(result<std::string>)> reply) {
  call_back(reply, tl::unexpected<error>(refusal()));
}

void closed_port::describe(request_id, std::function<void(std::optional<request_state>)> reply) {
  call_back(reply, std::nullopt);
}

void closed_port::reset_prefix_cache(std::function<void(bool)> reply) { call_back(reply, false); }

}  // namespace troupe::net
