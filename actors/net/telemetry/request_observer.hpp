// Who hears of a request when it has ended: the log, traces.
#pragma once
#include <memory>
#include <vector>

#include "runtime/telemetry/request_report.hpp"

namespace troupe::net {

class request_observer {
 public:
  virtual ~request_observer() = default;
  // Called on a server's thread, which all its clients share: must not wait for anything.
  virtual void ended(const request_report& report) = 0;
};
using request_observers = std::vector<std::shared_ptr<request_observer>>;

}  // namespace troupe::net
