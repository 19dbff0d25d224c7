// How often a step ran in each bucket, of which there may be tens of thousands.
#pragma once
#include <atomic>
#include <cstdint>
#include <deque>
#include <map>
#include <mutex>
#include <string>

#include "metrics/family_lines.hpp"

namespace troupe::metrics {

class bucket_counters {
 public:
  // `labels`: what every sample has.
  explicit bucket_counters(label_list labels);
  bucket_counters(const bucket_counters&) = delete;
  bucket_counters& operator=(const bucket_counters&) = delete;

  // Of the bucket of this name; there, at zero, from the first call on. Keep the reference.
  std::atomic<std::uint64_t>& of(const std::string& bucket);

  // The family in Prometheus' text format; where there is no bucket, a zero without one.
  void append_to(std::string& text) const;

 private:
  struct counter {
    explicit counter(std::string written) : start(std::move(written)) {}
    const std::string start;
    std::atomic<std::uint64_t> count{0};
  };

  const label_list labels_;
  const family_lines of_none_;
  std::mutex names_mutex_;  // never while a scrape is written
  std::map<std::string, counter*> by_name_;
  mutable std::mutex counters_mutex_;  // of the list, not of what is counted
  std::deque<counter> counters_;
};

}  // namespace troupe::metrics
