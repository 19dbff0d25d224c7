#include "actors/net/sockets/memory_tidier.hpp"

#include <malloc.h>

#include <array>
#include <chrono>
#include <utility>

namespace troupe::net {

memory_tidier::memory_tidier() : thread_([this] { work(); }) {}

memory_tidier::~memory_tidier() {
  {
    const std::lock_guard held(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void memory_tidier::ask() {
  {
    const std::lock_guard held(mutex_);
    is_asked_ = true;
  }
  changed_.notify_all();
}

// Who asks meanwhile has all the times before him again.
void memory_tidier::work() {
  constexpr std::array<std::chrono::seconds, 3> pauses{std::chrono::seconds(1), std::chrono::seconds(4),
                                                       std::chrono::seconds(15)};
  std::unique_lock held(mutex_);
  while (true) {
    changed_.wait(held, [this] { return is_over_ || is_asked_; });
    for (std::size_t i = 0; i < pauses.size() && !is_over_;) {
      i = std::exchange(is_asked_, false) ? 0 : i;
      if (changed_.wait_for(held, pauses[i], [this] { return is_over_; })) break;
      held.unlock();
      ::malloc_trim(0);
      held.lock();
      ++i;
    }
    if (is_over_) return;
  }
}

}  // namespace troupe::net
