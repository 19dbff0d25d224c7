#include "main/service/status_line.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <cstdint>
#include <ctime>
#include <utility>

namespace troupe::cli {
namespace {

// Empty: in none. A drain is none, and before it is ready a service tells of its progress.
std::string trouble_of(const net::engine_status& now, bool was_ready) {
  if (!now.live) return "not live: " + now.reason;
  return was_ready && !now.ready && now.waits_for_runner ? "not ready: " + now.reason : "";
}

}  // namespace

std::string end_notice(const std::string& why) { return "STOPPING=1\nSTATUS=ending: " + why; }

void status_line::ready() {
  const std::lock_guard lock(mutex_);
  was_ready_ = true;
  tell_ready();
}

void status_line::reloaded(std::string line) {
  const std::lock_guard lock(mutex_);
  serving_ = std::move(line);
  tell_ready();
}

void status_line::tell_ready() {
  if (was_ready_ && !is_stopping_) notify_("READY=1\nSTATUS=" + (trouble_.empty() ? serving() : trouble_));
}

std::string status_line::serving() const {
  return degraded_.empty() ? serving_ : "degraded: " + degraded_ + "; " + serving_;
}

void status_line::reloading() {
  const std::lock_guard lock(mutex_);
  if (is_stopping_ || !was_ready_) return;
  timespec now{};
  clock_gettime(CLOCK_MONOTONIC, &now);
  notify_(fmt::format("RELOADING=1\nMONOTONIC_USEC={}\nSTATUS={}",
                      std::int64_t{now.tv_sec} * 1'000'000 + now.tv_nsec / 1000,
                      trouble_.empty() ? "reloading" : trouble_));
}

// systemd has a limit of its own, which counts from here on.
void status_line::stopping(std::chrono::nanoseconds within, const std::string& why) {
  const std::lock_guard lock(mutex_);
  is_stopping_ = true;
  notify_(end_notice(why));
  notify_(fmt::format("EXTEND_TIMEOUT_USEC={}",
                      std::chrono::duration_cast<std::chrono::microseconds>(within).count()));
}

void status_line::look(const net::engine_status& now) {
  const std::lock_guard lock(mutex_);
  const std::string before = std::exchange(trouble_, trouble_of(now, was_ready_));
  const std::string degraded_before = degraded_;
  if (now.ready) degraded_ = now.degraded;
  if (trouble_ == before) {
    if (degraded_ != degraded_before && was_ready_ && !is_stopping_) notify_("STATUS=" + serving());
    return;
  }
  if (!trouble_.empty()) {
    spdlog::log(now.live ? spdlog::level::warn : spdlog::level::err, "{}", trouble_);
  } else if (now.ready || before.starts_with("not live")) {
    spdlog::info("{} again", now.ready ? "ready" : "live");
  }
  if (is_stopping_) return;
  notify_("STATUS=" + (!trouble_.empty() ? trouble_ : now.ready ? serving() : now.reason));
}

}  // namespace troupe::cli
