#include "actors/net/http/http_generation.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <utility>

namespace troupe::net {
namespace {

request_report numbered(request_report begun, request_id number) {
  begun.number = number;
  return begun;
}

// Which of them is meant.
void name_prompt(std::size_t prompt, stream_event& event) {
  if (!event.end || !event.end->failure || event.end->failure->param != "prompt") return;
  event.end->failure->message = fmt::format("prompt[{}]: {}", prompt, event.end->failure->message);
}

std::vector<live_generation> begin_all(engine_port& port, std::vector<generation_request>& requests,
                                       const std::shared_ptr<event_mailbox>& events) {
  std::vector<live_generation> live;
  live.reserve(requests.size());
  std::uint64_t stream = 0;
  for (generation_request& each : requests) {
    if (!live.empty()) each.joins = live.front().ids().front();
    const auto request = std::make_shared<const generation_request>(std::move(each));
    live.emplace_back(port, request, events, stream);
    stream += static_cast<std::uint64_t>(request->n);
  }
  return live;
}

}  // namespace

http_generation::http_generation(http_shared& shared, std::vector<generation_request>& requests,
                                 std::shared_ptr<event_mailbox> events, const request_report& begun)
    : shared_(shared),
      events_(std::move(events)),
      at_end_(*events_),
      choices_(static_cast<std::size_t>(requests.front().n)),
      live_(begin_all(shared.port, requests, events_)),
      listed_(shared.requests, begun.id, ids()) {
  for (std::size_t i = 0; i < live_.size(); ++i)
    tracked_.push_back(
        {i * choices_, std::make_shared<request_tracker>(shared.options.observers,
                                                         numbered(begun, live_[i].ids().front()))});
}

http_generation::~http_generation() {
  if (is_taking_ || all_ended()) return;
  for (live_generation& each : live_) each.abort();
  at_end_.let_go();
  std::erase_if(tracked_, std::mem_fn(&followed_request::has_ended));
  shared_.departed.follow(std::move(events_), std::move(tracked_));
}

std::vector<request_id> http_generation::ids() const {
  std::vector<request_id> all;
  for (const live_generation& each : live_) all.insert(all.end(), each.ids().begin(), each.ids().end());
  return all;
}

bool http_generation::all_ended() const {
  return std::ranges::all_of(tracked_, &followed_request::has_ended);
}

std::vector<tagged_event> http_generation::take() {
  is_taking_ = true;
  std::vector<tagged_event> arrived = events_->take();
  for (tagged_event& entry : arrived) {
    const std::size_t prompt = entry.stream / choices_;
    const std::size_t answer = entry.stream % choices_;
    request_tracker& tracker = *tracked_[prompt].tracker;
    tracker.add(answer, entry.event);
    listed_.told(entry.stream, tracker.tokens(answer));
    if (entry.event.end) listed_.ended(entry.stream, entry.event.end->tokens);
    if (tracker.all_ended()) live_[prompt].ended();
    if (live_.size() > 1) name_prompt(prompt, entry.event);
  }
  is_taking_ = false;
  return arrived;
}

}  // namespace troupe::net
