// An observer that keeps what it hears.
#pragma once
#include <memory>
#include <mutex>
#include <vector>

#include "actors/net/request_observer.hpp"

namespace troupe::net::testing {

class observed_requests final : public request_observer {
 public:
  void ended(const request_report& report) override {
    const std::lock_guard lock(mutex_);
    reports_.push_back(report);
  }
  std::vector<request_report> reports() const {
    const std::lock_guard lock(mutex_);
    return reports_;
  }

 private:
  mutable std::mutex mutex_;
  std::vector<request_report> reports_;
};

}  // namespace troupe::net::testing
