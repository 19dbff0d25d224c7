#include "metrics/histogram.hpp"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace troupe::metrics {

histogram::histogram(std::vector<double> upper_bounds)
    : upper_bounds_(std::move(upper_bounds)),
      counts_(std::make_unique<std::atomic<std::uint64_t>[]>(upper_bounds_.size() + 1)) {}

void histogram::observe(double value) {
  const auto bound = std::lower_bound(upper_bounds_.begin(), upper_bounds_.end(), value);
  counts_[static_cast<std::size_t>(bound - upper_bounds_.begin())].fetch_add(1, std::memory_order_relaxed);
  sum_.fetch_add(value, std::memory_order_relaxed);
}

histogram::reading histogram::read() const {
  reading out;
  out.cumulative.reserve(upper_bounds_.size() + 1);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i <= upper_bounds_.size(); ++i) {
    total += counts_[i].load(std::memory_order_relaxed);
    out.cumulative.push_back(total);
  }
  out.sum = sum_.load(std::memory_order_relaxed);
  return out;
}

}  // namespace troupe::metrics
