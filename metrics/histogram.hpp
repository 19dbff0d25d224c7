// A histogram that is observed and read without a lock: who asks for the metrics never holds up who serves.
#pragma once
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

namespace troupe::metrics {

class histogram {
 public:
  // `upper_bounds` ascend; a value belongs to the first bound that is not below it, or to none of them.
  explicit histogram(std::vector<double> upper_bounds);

  // Safe from any thread.
  void observe(double value);

  // What was observed until now. `count` is the sum of the buckets; `sum` may be one observation ahead.
  struct reading {
    std::vector<std::uint64_t> cumulative;  // by bound, then all
    double sum = 0;
    std::uint64_t count() const { return cumulative.back(); }
  };
  reading read() const;

  const std::vector<double>& upper_bounds() const { return upper_bounds_; }

 private:
  const std::vector<double> upper_bounds_;
  const std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;  // [upper_bounds + 1]
  std::atomic<double> sum_{0};
};

}  // namespace troupe::metrics
