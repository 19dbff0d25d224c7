// How long to wait before somebody is started again: not at all the first time, and then twice as long each
// time, so that what ends him has time to pass.
#pragma once
#include <chrono>
#include <optional>

#include "runtime/request.hpp"

namespace troupe {

struct restart_pauses {
  std::chrono::nanoseconds first = std::chrono::milliseconds(250);  // after the second end in a row
  std::chrono::nanoseconds longest = std::chrono::seconds(5);
};

class restart_backoff {
 public:
  explicit restart_backoff(const restart_pauses& pauses = {}) : pauses_(pauses) {}
  // He has begun to work; he has ended (and may never have begun), and is started again when this has passed.
  // Whoever has worked for replacement_record::time_to_settle is started again at once.
  void is_back(steady_time now) { back_ = now; }
  std::chrono::nanoseconds ended(steady_time now);

 private:
  restart_pauses pauses_;
  std::optional<steady_time> back_;  // nothing: nobody works
  std::chrono::nanoseconds next_{0};
};

}  // namespace troupe
