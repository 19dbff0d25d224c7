// Why a service should end, told by any thread to the one that waits.
#pragma once
#include <chrono>
#include <condition_variable>
#include <mutex>
#include <optional>
#include <string>
#include <utility>

namespace troupe::cli {

class stop_request {
 public:
  // The first word counts; whether this was it. `failure`: the actor whose end brings the service down;
  // nothing: a signal, or an operator, who may say how long requests may go on.
  bool tell(std::optional<std::string> failure = {}, std::optional<std::chrono::milliseconds> grace = {}) {
    const std::lock_guard lock(mutex_);
    if (told_) return false;
    told_ = true;
    failure_ = std::move(failure);
    grace_ = grace;
    changed_.notify_all();
    return true;
  }
  std::optional<std::chrono::milliseconds> grace() const {
    const std::lock_guard lock(mutex_);
    return grace_;
  }
  bool told() const {
    const std::lock_guard lock(mutex_);
    return told_;
  }
  std::optional<std::string> wait() {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return told_; });
    return failure_;
  }
  // Whether it was told within this time.
  template <class Duration>
  bool wait_for(const Duration& time) {
    std::unique_lock lock(mutex_);
    return changed_.wait_for(lock, time, [this] { return told_; });
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  bool told_ = false;
  std::optional<std::string> failure_;
  std::optional<std::chrono::milliseconds> grace_;
};

}  // namespace troupe::cli
