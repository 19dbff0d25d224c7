#include "main/status_line.hpp"

#include <spdlog/spdlog.h>

#include <utility>

namespace troupe::cli {
namespace {

// Empty: in none. A drain is none, and before it is ready a service tells of its progress.
std::string trouble_of(const net::engine_status& now, bool was_ready) {
  if (!now.live) return "not live: " + now.reason;
  return was_ready && !now.ready && now.waits_for_runner ? "not ready: " + now.reason : "";
}

}  // namespace

void status_line::ready(std::string line) {
  const std::lock_guard lock(mutex_);
  was_ready_ = true;
  serving_ = std::move(line);
  notify_("READY=1\nSTATUS=" + (trouble_.empty() ? serving_ : trouble_));
}

void status_line::look(const net::engine_status& now) {
  const std::lock_guard lock(mutex_);
  const std::string before = std::exchange(trouble_, trouble_of(now, was_ready_));
  if (trouble_ == before) return;
  if (trouble_.empty()) {
    spdlog::info("{} again", now.ready ? "ready" : "live");
  } else {
    spdlog::log(now.live ? spdlog::level::warn : spdlog::level::err, "{}", trouble_);
  }
  notify_("STATUS=" + (!trouble_.empty() ? trouble_ : now.ready ? serving_ : now.reason));
}

}  // namespace troupe::cli
