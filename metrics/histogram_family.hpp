// Every histogram of one name, for prometheus-cpp to write out.
#pragma once
#include <prometheus/collectable.h>
#include <prometheus/metric_family.h>

#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#include "metrics/catalogue.hpp"
#include "metrics/histogram.hpp"

namespace troupe::metrics {

using label_list = std::vector<std::pair<std::string, std::string>>;

class histogram_family final : public prometheus::Collectable {
 public:
  // `labels`: what every histogram of the family has.
  histogram_family(const metric_description& what, label_list labels);

  bool counts_tokens() const { return what_.buckets == bucket_set::token_counts; }
  // Buckets beyond this bound are not written out any more. Any thread.
  void end_buckets_at(double bound) { last_bound_.store(bound); }

  // The histogram with these further labels; made by the first call. It lives as long as the family.
  histogram& add(const label_list& labels);

  std::vector<prometheus::MetricFamily> Collect() const override;

 private:
  struct entry {
    label_list labels;
    std::unique_ptr<histogram> values;
  };

  const metric_description& what_;
  const label_list labels_;
  const std::vector<double> upper_bounds_;
  std::atomic<double> last_bound_ = std::numeric_limits<double>::infinity();
  mutable std::mutex mutex_;  // of the list, not of what is observed
  std::vector<entry> entries_;
};

}  // namespace troupe::metrics
