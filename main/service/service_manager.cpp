#include "main/service/service_manager.hpp"

#include <fmt/format.h>
#include <spdlog/spdlog.h>
#include <systemd/sd-daemon.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>

#include "main/service/service_notifier.hpp"

namespace troupe::cli {
namespace {

using clock = std::chrono::steady_clock;

// What is told last is waited for so long.
constexpr std::chrono::milliseconds time_for_last_word{200};

// Never gone: its thread may be in the middle of sending when the process ends.
service_notifier& notifier() {
  static auto* const only =
      new service_notifier([](const std::string& state) { sd_notify(0, state.c_str()); });
  return *only;
}

void notify(const std::string& state) { notifier().tell(state); }

// A third of what systemd waits for, and often enough to notice anything.
std::chrono::nanoseconds interval_of(std::chrono::nanoseconds patience) {
  std::uint64_t microseconds = 0;
  const bool is_fed = sd_watchdog_enabled(0, &microseconds) > 0;
  const std::chrono::nanoseconds own = std::clamp<std::chrono::nanoseconds>(
      patience / 4, std::chrono::milliseconds(10), std::chrono::seconds(1));
  return is_fed ? std::min<std::chrono::nanoseconds>(own, std::chrono::microseconds(microseconds) / 3) : own;
}

}  // namespace

void tell_status(const std::string& line) { notify("STATUS=" + line); }

void tell_end(const std::string& why) {
  notify(end_notice(why));
  notifier().flush(time_for_last_word);
}

liveness_watch::liveness_watch(status_of status, std::chrono::nanoseconds patience, process_end end)
    : status_(std::move(status)), line_(notify), patience_(patience), end_(std::move(end)) {
  thread_ = std::thread([this] { watch(); });
}

liveness_watch::~liveness_watch() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  changed_.notify_all();
  thread_.join();
  notifier().flush(time_for_last_word);
}

void liveness_watch::watch() {
  std::optional<clock::time_point> stuck_since;
  std::unique_lock lock(mutex_);
  do {
    const net::engine_status now = status_();
    line_.look(now);
    if (now.live) notify("WATCHDOG=1");
    if (now.live || now.is_dealt_with) {
      stuck_since.reset();
    } else if (!stuck_since) {
      stuck_since = clock::now();
    } else if (const std::chrono::nanoseconds patience = patience_; clock::now() - *stuck_since >= patience) {
      return end_(fmt::format("not live for {} s",
                              std::chrono::duration_cast<std::chrono::seconds>(patience).count()));
    }
  } while (!changed_.wait_for(lock, interval_of(patience_), [this] { return is_over_; }));
}

}  // namespace troupe::cli
