// A request that the engine works on for a client. Given up, it is aborted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>

#include "actors/net/engine_port.hpp"
#include "actors/net/mailbox.hpp"

namespace troupe::net {

// An event and which of the connection's streams it belongs to.
struct tagged_event {
  std::uint64_t stream = 0;
  stream_event event;
};
using event_mailbox = mailbox<tagged_event>;

// Memory that an event holds while it waits, roughly.
std::size_t waiting_bytes(const stream_event& event);

class live_generation {
 public:
  // Events go to `events` under `stream`.
  live_generation(engine_port& port, generation_request_ptr request, std::shared_ptr<event_mailbox> events,
                  std::uint64_t stream);
  ~live_generation();  // aborts unless ended() was called
  live_generation(live_generation&& other) noexcept;
  live_generation& operator=(live_generation&&) = delete;

  void ended() { port_ = nullptr; }
  void abort();  // its end still comes

 private:
  engine_port* port_;
  request_id id_;
};

}  // namespace troupe::net
