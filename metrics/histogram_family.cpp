#include "metrics/histogram_family.hpp"

#include <prometheus/metric_family.h>

#include <algorithm>
#include <cstddef>

namespace troupe::metrics {
namespace {

// In the order of its samples' lines: how many, their sum, the buckets.
constexpr std::size_t lines_before_buckets = 2;

prometheus::ClientMetric empty_histogram(const std::vector<double>& upper_bounds) {
  prometheus::ClientMetric out;
  for (const double bound : upper_bounds) out.histogram.bucket.push_back({0, bound});
  out.histogram.bucket.push_back({0, std::numeric_limits<double>::infinity()});
  return out;
}

}  // namespace

histogram_family::histogram_family(const metric_description& what, label_list labels)
    : what_(what), labels_(std::move(labels)), upper_bounds_(bucket_bounds(what.buckets)) {}

histogram& histogram_family::add(const label_list& labels) {
  const std::lock_guard lock(mutex_);
  const auto found = std::find_if(entries_.begin(), entries_.end(),
                                  [&](const entry& each) { return each.labels == labels; });
  if (found != entries_.end()) return *found->values;
  family_lines lines =
      lines_of(what_, with_labels(with_labels(empty_histogram(upper_bounds_), labels_), labels));
  head_ = std::move(lines.head);
  entries_.push_back({labels, std::move(lines.starts), std::make_unique<histogram>(upper_bounds_)});
  return *entries_.back().values;
}

void histogram_family::append_to(std::string& text) const {
  const double last_bound = last_bound_.load();
  const std::lock_guard lock(mutex_);
  text += head_;
  for (const entry& each : entries_) {
    const histogram::reading now = each.values->read();
    append_sample(text, each.starts[0], now.count());
    append_sample(text, each.starts[1], now.sum);
    for (std::size_t i = 0; i < now.cumulative.size(); ++i)
      if (i == upper_bounds_.size() || upper_bounds_[i] <= last_bound)
        append_sample(text, each.starts[lines_before_buckets + i], now.cumulative[i]);
  }
}

}  // namespace troupe::metrics
