#include "actors/clients/lasting_port.hpp"

#include <thread>

namespace troupe {

void lasting_port::lead_to(std::shared_ptr<net::engine_port> next) {
  std::weak_ptr<net::engine_port> before;
  {
    const std::lock_guard lock(mutex_);
    before = now_;
    now_.swap(next);
  }
  next.reset();
  // Calls return at once.
  while (!before.expired()) std::this_thread::yield();
}

}  // namespace troupe
