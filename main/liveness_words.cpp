#include "main/liveness_words.hpp"

#include <utility>

namespace troupe::cli {

std::optional<std::string> liveness_words::look(const net::engine_status& now) {
  if (now.live && told_.empty()) return std::nullopt;
  const bool serves = now.live && now.ready;
  const std::string line = !now.live ? "not live: " + now.reason : serves ? "serving" : now.reason;
  const std::string before = std::exchange(told_, serves ? std::string() : line);
  return line == before ? std::nullopt : std::optional(line);
}

}  // namespace troupe::cli
