// An observer that keeps what it hears.
#pragma once
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <memory>
#include <mutex>
#include <vector>

#include "actors/net/telemetry/request_observer.hpp"

namespace troupe::net::testing {

class observed_requests final : public request_observer {
 public:
  void ended(const request_report& report) override {
    const std::lock_guard lock(mutex_);
    reports_.push_back(report);
    changed_.notify_all();
  }
  // For 20 seconds at most.
  void wait_for(std::size_t count) {
    std::unique_lock lock(mutex_);
    changed_.wait_for(lock, std::chrono::seconds(20), [&] { return reports_.size() >= count; });
  }
  std::vector<request_report> reports() const {
    const std::lock_guard lock(mutex_);
    return reports_;
  }

 private:
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::vector<request_report> reports_;
};

}  // namespace troupe::net::testing
