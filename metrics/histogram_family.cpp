#include "metrics/histogram_family.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>

namespace troupe::metrics {
namespace {

prometheus::ClientMetric::Histogram written(const histogram& values, double last_bound) {
  const histogram::reading now = values.read();
  prometheus::ClientMetric::Histogram out;
  out.sample_count = now.count();
  out.sample_sum = now.sum;
  out.bucket.reserve(now.cumulative.size());
  for (std::size_t i = 0; i < now.cumulative.size(); ++i) {
    const bool bounded = i < values.upper_bounds().size();
    const double bound = bounded ? values.upper_bounds()[i] : std::numeric_limits<double>::infinity();
    if (!bounded || bound <= last_bound) out.bucket.push_back({now.cumulative[i], bound});
  }
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
  entries_.push_back({labels, std::make_unique<histogram>(upper_bounds_)});
  return *entries_.back().values;
}

std::vector<prometheus::MetricFamily> histogram_family::Collect() const {
  prometheus::MetricFamily family;
  family.name = what_.name;
  family.help = what_.help;
  family.type = prometheus::MetricType::Histogram;
  const std::lock_guard lock(mutex_);
  if (entries_.empty()) return {};
  for (const entry& each : entries_) {
    prometheus::ClientMetric metric;
    for (const auto& [name, value] : labels_) metric.label.push_back({name, value});
    for (const auto& [name, value] : each.labels) metric.label.push_back({name, value});
    metric.histogram = written(*each.values, last_bound_.load());
    family.metric.push_back(std::move(metric));
  }
  return {std::move(family)};
}

}  // namespace troupe::metrics
