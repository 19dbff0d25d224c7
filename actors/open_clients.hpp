// The clients whose streams are open, and who of them has left: a message that tells so may be lost.
#pragma once
#include <mutex>
#include <unordered_map>

#include "runtime/request.hpp"

namespace troupe {

// Of one port. Any thread.
class open_clients {
 public:
  void opened(request_id id) {
    const std::lock_guard lock(mutex_);
    has_left_.emplace(id, false);
  }
  // Does nothing where the stream is not open.
  void left(request_id id) {
    const std::lock_guard lock(mutex_);
    if (const auto found = has_left_.find(id); found != has_left_.end()) found->second = true;
  }
  bool has_left(request_id id) const {
    const std::lock_guard lock(mutex_);
    const auto found = has_left_.find(id);
    return found != has_left_.end() && found->second;
  }
  void closed(request_id id) {
    const std::lock_guard lock(mutex_);
    has_left_.erase(id);
  }

 private:
  mutable std::mutex mutex_;
  std::unordered_map<request_id, bool> has_left_;
};

}  // namespace troupe
