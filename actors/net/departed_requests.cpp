#include "actors/net/departed_requests.hpp"

#include <exception>
#include <functional>
#include <utility>

namespace troupe::net {
namespace {

void hear(const std::vector<followed_request>& requests, const tagged_event& entry) {
  for (const followed_request& each : requests) {
    const std::uint64_t answer = entry.stream - each.first_stream;
    if (answer < each.tracker->choices()) return each.tracker->add(answer, entry.event);
  }
}

}  // namespace

void departed_requests::follow(std::shared_ptr<event_mailbox> events,
                               std::vector<followed_request> requests) noexcept {
  for (const followed_request& each : requests) each.tracker->give_up();
  if (ended_) return events->close();
  std::shared_ptr<departure> left;
  try {
    left = std::make_shared<departure>(departure{events, std::move(requests)});
    departures_.insert(left);
    events->hand_over([this, left](bool overflowed) { take_events(left, overflowed); });
  } catch (const std::exception&) {
    events->close();
    departures_.erase(left);
  }
}

// What did not fit is dropped, the ends with it.
void departed_requests::take_events(const std::shared_ptr<departure>& left, bool overflowed) try {
  for (const tagged_event& entry : left->events->take()) hear(left->requests, entry);
  std::erase_if(left->requests, std::mem_fn(&followed_request::has_ended));
  if (overflowed || left->requests.empty()) drop(left);
} catch (const std::exception&) {  // no memory for an event, and an end may have been behind it
  drop(left);
}

void departed_requests::drop(const std::shared_ptr<departure>& left) {
  left->requests.clear();
  left->events->close();
  departures_.erase(left);
}

void departed_requests::end() {
  ended_ = true;
  while (!departures_.empty()) drop(std::shared_ptr(*departures_.begin()));
}

}  // namespace troupe::net
