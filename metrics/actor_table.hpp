// The meters of all actors.
#pragma once
#include <prometheus/metric_family.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "metrics/actor_meter.hpp"
#include "metrics/actor_pulse.hpp"
#include "metrics/histogram_family.hpp"

namespace troupe::metrics {

class actor_table {
 public:
  // `labels`: what every sample has.
  explicit actor_table(label_list labels);

  // Made by the first call; lives as long as the table.
  actor_meter& meter(const std::string& actor);

  // One actor's signs of life, by its number, for as long as somebody else owns them.
  void add(std::uint64_t actor, const std::shared_ptr<actor_pulse>& pulse);
  std::shared_ptr<actor_pulse> pulse(std::uint64_t actor) const;  // null: there are none

  // How full their mailboxes are and how often they were started anew; what their messages took.
  std::vector<prometheus::MetricFamily> collect() const;
  const histogram_family& messages() const { return messages_; }

 private:
  const label_list labels_;
  histogram_family messages_;
  mutable std::mutex mutex_;  // of the lists, not of what is measured
  std::vector<std::unique_ptr<actor_meter>> meters_;
  std::map<std::uint64_t, std::weak_ptr<actor_pulse>> pulses_;
};

}  // namespace troupe::metrics
