// The requests that were given up before their end, mostly as their clients have left: the engine is listened
// to until it has told that, so that their reports are whole.
#pragma once
#include <cstdint>
#include <memory>
#include <unordered_set>
#include <vector>

#include "actors/net/live_generation.hpp"
#include "actors/net/telemetry/request_tracker.hpp"

namespace troupe::net {

// A request whose answers' events come under `first_stream` and the numbers behind it.
struct followed_request {
  std::uint64_t first_stream = 0;
  std::shared_ptr<request_tracker> tracker;

  bool has_ended() const { return tracker->all_ended(); }
};

// Lives on the io_context thread.
class departed_requests {
 public:
  departed_requests() = default;
  ~departed_requests() { end(); }
  departed_requests(const departed_requests&) = delete;
  departed_requests& operator=(const departed_requests&) = delete;

  // Gives up requests that have been aborted; `events` brings what is still to come of them. Without memory
  // for that they are told with what is known.
  void follow(std::shared_ptr<event_mailbox> events, std::vector<followed_request> requests) noexcept;
  // Nobody is waited for any more, nor will be: reports are told with what is known. To be called before the
  // io_context goes.
  void end();

 private:
  struct departure {
    std::shared_ptr<event_mailbox> events;
    std::vector<followed_request> requests;  // that have not ended
  };
  void take_events(const std::shared_ptr<departure>& left, bool overflowed);
  void drop(const std::shared_ptr<departure>& left);

  std::unordered_set<std::shared_ptr<departure>> departures_;
  bool ended_ = false;
};

}  // namespace troupe::net
