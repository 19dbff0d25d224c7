#include "actors/net/http_generation.hpp"

#include <utility>

namespace troupe::net {
namespace {

request_report numbered(request_report begun, request_id number) {
  begun.number = number;
  return begun;
}

}  // namespace

http_generation::http_generation(http_shared& shared, const generation_request_ptr& request,
                                 std::shared_ptr<event_mailbox> events, request_report begun)
    : shared_(shared),
      events_(std::move(events)),
      at_end_(*events_),
      live_(shared.port, request, events_, 0),
      listed_(shared.requests, begun.id, live_.ids()),
      tracker_(std::make_shared<request_tracker>(shared.options.observers,
                                                 numbered(std::move(begun), live_.ids().front()))) {
  for (std::size_t answer = 0; answer < live_.ids().size(); ++answer) open_[answer] = {tracker_, answer};
}

http_generation::~http_generation() {
  if (open_.empty()) return;
  live_.abort();
  at_end_.let_go();
  shared_.departed.follow(std::move(events_), std::move(open_));
}

std::vector<tagged_event> http_generation::take() {
  std::vector<tagged_event> arrived = events_->take();
  for (const tagged_event& entry : arrived) {
    tracker_->add(entry.stream, entry.event);
    if (!entry.event.end) continue;
    listed_.ended(entry.stream, entry.event.end->tokens);
    open_.erase(entry.stream);
  }
  if (open_.empty()) live_.ended();
  return arrived;
}

}  // namespace troupe::net
