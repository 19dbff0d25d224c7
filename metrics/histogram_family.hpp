// Every histogram of one name.
#pragma once
#include <atomic>
#include <limits>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "metrics/catalogue.hpp"
#include "metrics/family_lines.hpp"
#include "metrics/histogram.hpp"

namespace troupe::metrics {

class histogram_family {
 public:
  // `labels`: what every histogram of the family has.
  histogram_family(const metric_description& what, label_list labels);

  bool counts_tokens() const { return what_.buckets == bucket_set::token_counts; }
  // Buckets beyond this bound are not written out any more. Any thread.
  void end_buckets_at(double bound) { last_bound_.store(bound); }

  // The histogram with these further labels; made by the first call. It lives as long as the family.
  histogram& add(const label_list& labels);

  // The family in Prometheus' text format; nothing where there is no histogram.
  void append_to(std::string& text) const;

 private:
  struct entry {
    label_list labels;
    std::vector<std::string> starts;  // of its lines
    std::unique_ptr<histogram> values;
  };

  const metric_description& what_;
  const label_list labels_;
  const std::vector<double> upper_bounds_;
  std::atomic<double> last_bound_ = std::numeric_limits<double>::infinity();
  mutable std::mutex mutex_;  // of the list, not of what is observed
  std::string head_;          // from the first histogram on
  std::vector<entry> entries_;
};

}  // namespace troupe::metrics
