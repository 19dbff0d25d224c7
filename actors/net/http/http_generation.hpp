// The request of an HTTP client while the engine has it: one for each of its prompts.
#pragma once
#include <cstddef>
#include <memory>
#include <vector>

#include "actors/net/departed_requests.hpp"
#include "actors/net/http/http_shared.hpp"
#include "actors/net/http/request_directory.hpp"
#include "actors/net/live_generation.hpp"
#include "actors/net/telemetry/request_tracker.hpp"
#include "runtime/generation_request.hpp"

namespace troupe::net {

// Listed as long as it lives; reported when it goes. Given up before its end, it is aborted, and reported
// once the engine has told that end.
class http_generation {
 public:
  // `requests`: of each prompt, at least one, of as many answers each; taken. `events`: open, and nobody
  // else's. `begun`: what is known of all of them but their numbers. `shared` must outlive it.
  http_generation(http_shared& shared, std::vector<generation_request>& requests,
                  std::shared_ptr<event_mailbox> events, const request_report& begun);
  ~http_generation();
  http_generation(const http_generation&) = delete;
  http_generation& operator=(const http_generation&) = delete;

  // What has come since the last call; an event's stream is the index of its answer, behind all those of the
  // prompts before.
  std::vector<tagged_event> take();

 private:
  std::vector<request_id> ids() const;
  bool all_ended() const;

  http_shared& shared_;
  std::shared_ptr<event_mailbox> events_;
  event_mailbox::closer at_end_;
  std::size_t choices_;  // of each
  std::vector<live_generation> live_;
  request_directory::listing listed_;
  std::vector<followed_request> tracked_;  // the same, by index
  bool is_taking_ = false;                 // also where events were lost, for want of memory
};

}  // namespace troupe::net
