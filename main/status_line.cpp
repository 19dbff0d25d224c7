#include "main/status_line.hpp"

#include <utility>

namespace troupe::cli {

void status_line::ready(std::string line) {
  const std::lock_guard lock(mutex_);
  serving_ = std::move(line);
  notify_("READY=1\nSTATUS=" + (trouble_.empty() ? serving_ : trouble_));
}

void status_line::look(const net::engine_status& now) {
  const std::lock_guard lock(mutex_);
  if (now.live && trouble_.empty()) return;
  const bool serves = now.live && now.ready;
  const std::string before = trouble_;
  trouble_ = serves ? "" : now.live ? now.reason : "not live: " + now.reason;
  if (trouble_ != before) notify_("STATUS=" + (serves ? serving_ : trouble_));
}

}  // namespace troupe::cli
