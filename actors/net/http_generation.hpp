// A request that the engine has for an HTTP client.
#pragma once
#include <memory>
#include <vector>

#include "actors/net/departed_requests.hpp"
#include "actors/net/http_shared.hpp"
#include "actors/net/live_generation.hpp"
#include "actors/net/request_directory.hpp"
#include "actors/net/request_tracker.hpp"
#include "runtime/generation_request.hpp"

namespace troupe::net {

// Listed as long as it lives; reported when it goes. Given up before its end, it is aborted, and reported
// once the engine has told that end.
class http_generation {
 public:
  // `events`: open, and nobody else's. `begun`: what is known of the request but its number. `shared` must
  // outlive it.
  http_generation(http_shared& shared, const generation_request_ptr& request,
                  std::shared_ptr<event_mailbox> events, request_report begun);
  ~http_generation();
  http_generation(const http_generation&) = delete;
  http_generation& operator=(const http_generation&) = delete;

  // What has come since the last call; an event's stream is the index of its answer.
  std::vector<tagged_event> take();

 private:
  http_shared& shared_;
  std::shared_ptr<event_mailbox> events_;
  event_mailbox::closer at_end_;
  live_generation live_;
  request_directory::listing listed_;
  std::vector<followed_request> tracked_;  // itself
  bool is_taking_ = false;                 // also where events were lost, for want of memory
};

}  // namespace troupe::net
