#include "actors/net/departed_requests.hpp"

#include <exception>
#include <utility>

namespace troupe::net {

void departed_requests::follow(std::shared_ptr<event_mailbox> events, stream_listeners listeners) noexcept {
  for (const auto& [stream, listener] : listeners) listener.tracker->client_left();
  if (ended_) return events->close();
  try {
    const auto of = std::make_shared<departure>(departure{events, std::move(listeners)});
    departures_.insert(of);
    events->hand_over([this, of](bool overflowed) { hear(of, overflowed); });
  } catch (const std::exception&) {  // no memory for it: it is told with what is known
    events->close();
  }
}

// What did not fit is dropped, the ends with it.
void departed_requests::hear(const std::shared_ptr<departure>& of, bool overflowed) {
  for (const tagged_event& entry : of->events->take()) {
    const auto found = of->listeners.find(entry.stream);
    if (found == of->listeners.end()) continue;
    found->second.hear(entry.event);
    if (entry.event.end) of->listeners.erase(found);
  }
  if (!overflowed && !of->listeners.empty()) return;
  of->listeners.clear();
  of->events->close();
  departures_.erase(of);
}

void departed_requests::end() {
  ended_ = true;
  for (const auto& of : std::exchange(departures_, {})) {
    of->events->close();
    of->listeners.clear();
  }
}

}  // namespace troupe::net
