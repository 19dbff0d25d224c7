#include "actors/net/live_generation.hpp"

#include <utility>

namespace troupe::net {
namespace {

std::size_t waiting_bytes(const std::vector<token_logprobs>& positions) {
  std::size_t bytes = 0;
  for (const token_logprobs& position : positions) {
    bytes += sizeof(position) + position.top.size() * sizeof(position.top[0]);
  }
  return bytes;
}

}  // namespace

std::size_t waiting_bytes(const stream_event& event) {
  return sizeof(tagged_event) + event.reasoning.size() + event.text.size() +
         (event.tokens.size() + event.prompt_tokens.size()) * sizeof(token_id) +
         waiting_bytes(event.logprobs) + waiting_bytes(event.prompt_logprobs);
}

live_generation::live_generation(engine_port& port, generation_request_ptr request,
                                 std::shared_ptr<event_mailbox> events, std::uint64_t stream)
    : port_(&port),
      ids_(port.generate_choices(
          std::move(request), [events = std::move(events), stream](std::int32_t index, stream_event event) {
            const std::size_t bytes = waiting_bytes(event);
            events->push({stream + static_cast<std::uint64_t>(index), std::move(event)}, bytes);
          })) {}

live_generation::~live_generation() { abort(); }

void live_generation::abort() {
  engine_port* const port = std::exchange(port_, nullptr);
  if (port == nullptr) return;
  for (const request_id id : ids_) port->abort(id);
}

live_generation::live_generation(live_generation&& other) noexcept
    : port_(std::exchange(other.port_, nullptr)), ids_(std::move(other.ids_)) {}

}  // namespace troupe::net
