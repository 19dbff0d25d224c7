// Counts the requests that a gateway refuses itself, which no actor hears of.
#pragma once
#include <memory>
#include <utility>

#include "actors/net/telemetry/request_observer.hpp"
#include "metrics/engine_metrics.hpp"

namespace troupe {

class refusal_counter final : public net::request_observer {
 public:
  explicit refusal_counter(std::shared_ptr<metrics::engine_metrics> metrics) : metrics_(std::move(metrics)) {}
  // One that got as far as the engine has a number there, and is counted at the end of its stream.
  void ended(const request_report& report) override {
    if (report.failure && report.number == 0) metrics_->add_request_error(report.failure->status);
  }

 private:
  const std::shared_ptr<metrics::engine_metrics> metrics_;
};

}  // namespace troupe
