// Who fills which role now, for those whom nobody tells: ports, counts, the end. Written by the supervisor,
// read by any thread.
#pragma once
#include <memory>
#include <mutex>
#include <utility>

#include "actors/interfaces.hpp"

namespace troupe {

class company_directory {
 public:
  // Never null; nobody is there before the first publish().
  company_roster_ptr current() const {
    const std::lock_guard lock(mutex_);
    return roster_;
  }
  void publish(company_roster_ptr roster) {
    const std::lock_guard lock(mutex_);
    roster_ = std::move(roster);
  }

 private:
  mutable std::mutex mutex_;
  company_roster_ptr roster_ = std::make_shared<const company_roster>();
};

}  // namespace troupe
