// The requests whose clients have left before their end: the engine is listened to until it has told that, so
// that their reports are whole.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <unordered_map>
#include <unordered_set>

#include "actors/net/live_generation.hpp"
#include "actors/net/request_tracker.hpp"

namespace troupe::net {

// Who is told of a stream, as which of a request's answers.
struct stream_listener {
  std::shared_ptr<request_tracker> tracker;
  std::size_t answer = 0;

  void hear(const stream_event& event) const { tracker->add(answer, event); }
};
using stream_listeners =
    std::unordered_map<std::uint64_t, stream_listener>;  // by stream; none that has ended

// Lives on the io_context thread.
class departed_requests {
 public:
  departed_requests() = default;
  ~departed_requests() { end(); }
  departed_requests(const departed_requests&) = delete;
  departed_requests& operator=(const departed_requests&) = delete;

  // Their client leaves now. `events` brings what is still to come of these streams, which have been aborted.
  void follow(std::shared_ptr<event_mailbox> events, stream_listeners listeners) noexcept;
  // Nobody is waited for any more, nor will be: reports are told with what is known. To be called before the
  // io_context goes.
  void end();

 private:
  struct departure {
    std::shared_ptr<event_mailbox> events;
    stream_listeners listeners;
  };
  void hear(const std::shared_ptr<departure>& of, bool overflowed);

  std::unordered_set<std::shared_ptr<departure>> departures_;
  bool ended_ = false;
};

}  // namespace troupe::net
