#include "runtime/supervision/restart_backoff.hpp"

#include <algorithm>

#include "runtime/supervision/replacement_record.hpp"

namespace troupe {

std::chrono::nanoseconds restart_backoff::ended(steady_time now) {
  if (back_ && now - *back_ >= replacement_record::time_to_settle) next_ = std::chrono::nanoseconds(0);
  back_.reset();
  const std::chrono::nanoseconds pause = next_;
  next_ = std::clamp(2 * next_, pauses_.first, pauses_.longest);
  return pause;
}

}  // namespace troupe
