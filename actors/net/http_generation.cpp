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
      tracked_{{0, std::make_shared<request_tracker>(shared.options.observers,
                                                     numbered(std::move(begun), live_.ids().front()))}} {}

http_generation::~http_generation() {
  if (is_taking_ || tracked_.front().tracker->all_ended()) return;
  live_.abort();
  at_end_.let_go();
  shared_.departed.follow(std::move(events_), std::move(tracked_));
}

std::vector<tagged_event> http_generation::take() {
  is_taking_ = true;
  request_tracker& tracker = *tracked_.front().tracker;
  std::vector<tagged_event> arrived = events_->take();
  for (const tagged_event& entry : arrived) {
    tracker.add(entry.stream, entry.event);
    listed_.told(entry.stream, tracker.tokens(entry.stream));
    if (entry.event.end) listed_.ended(entry.stream, entry.event.end->tokens);
  }
  if (tracker.all_ended()) live_.ended();
  is_taking_ = false;
  return arrived;
}

}  // namespace troupe::net
