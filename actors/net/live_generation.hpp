// A request that the engine works on for a client, with all of its answers. Given up, it is aborted.
#pragma once
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "actors/net/engine_port.hpp"
#include "actors/net/sockets/mailbox.hpp"
#include "runtime/generation_request.hpp"

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
  // Events go to `events`, those of the answer at index i under `stream` + i.
  live_generation(engine_port& port, generation_request_ptr request, std::shared_ptr<event_mailbox> events,
                  std::uint64_t stream);
  ~live_generation();  // aborts unless ended() was called
  live_generation(live_generation&& other) noexcept;
  live_generation& operator=(live_generation&&) = delete;

  const std::vector<request_id>& ids() const { return ids_; }  // by index
  void ended() { port_ = nullptr; }                            // all of them
  void abort();                                                // their ends still come

 private:
  engine_port* port_;
  std::vector<request_id> ids_;
};

}  // namespace troupe::net
