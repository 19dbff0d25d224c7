// Which timers of somebody are armed, where each goes off once and none can be called off.
#pragma once
#include <set>

#include "runtime/request.hpp"

namespace troupe {

// One that goes off too early does no harm: who is due later arms another then. So there are never more than
// one for each time that was the earliest of all.
class armed_timers {
 public:
  // Whether one has to be armed so that one goes off by then. Who is told so arms it.
  bool add(steady_time due) {
    if (!times_.empty() && *times_.begin() <= due) return false;
    times_.insert(due);
    return true;
  }
  // One has gone off.
  void gone_off(steady_time now) { times_.erase(times_.begin(), times_.upper_bound(now)); }

 private:
  std::set<steady_time> times_;
};

}  // namespace troupe
