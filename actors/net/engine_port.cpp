#include "actors/net/engine_port.hpp"

#include <fmt/format.h>

#include <utility>

#include "runtime/generation_request.hpp"

namespace troupe::net {

std::optional<error> fault_of(const generation_request_ptr& request) {
  if (!request) return error{error_code::invalid_argument, "there is no request"};
  if (request->n >= 1 && request->n <= max_choices) return std::nullopt;
  return error{error_code::invalid_argument,
               fmt::format("n must be between 1 and {}, got {}", max_choices, request->n), "n"};
}

stream_event refused_stream(error why) {
  stream_event event;
  event.end.emplace();
  event.end->reason = finish_reason::error;
  event.end->failure = std::move(why);
  return event;
}

}  // namespace troupe::net
