// What the service manager is told of a service that has not been live: while it is not, and what it does
// until it serves again.
#pragma once
#include <optional>
#include <string>

#include "actors/net/engine_port.hpp"

namespace troupe::cli {

class liveness_words {
 public:
  // The line to tell after a look at the service; nothing where that is told already, or need not be.
  std::optional<std::string> look(const net::engine_status& now);

 private:
  std::string told_;  // last; empty: it serves, or has always been live
};

}  // namespace troupe::cli
