// What engine_metrics is made of: every metric of the catalogue, where its value is kept.
#pragma once
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/labels.h>
#include <prometheus/registry.h>

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "metrics/actor_table.hpp"
#include "metrics/bucket_counters.hpp"
#include "metrics/engine_metrics.hpp"
#include "metrics/histogram_family.hpp"
#include "metrics/nvml_watch.hpp"

namespace troupe::metrics {

// By metric; null where it is of another type or has labels of its own.
template <class Metric>
using metric_table = std::array<Metric*, static_cast<std::size_t>(metric::info) + 1>;

template <class Metric>
Metric& entry(const metric_table<Metric>& all, metric id) {
  return *all[static_cast<std::size_t>(id)];
}

std::int64_t steady_nanoseconds();

struct engine_metrics::state {
  explicit state(const metrics_options& options);

  void add(const metric_description& what);
  void add_gauges(const metric_description& what);
  void add_counters(const metric_description& what);
  void add_histograms(const metric_description& what);
  // Replaces the one sample of an information metric, which is zero until then.
  void set_information(metric id, const prometheus::Labels& labels);
  void tell_program();

  void set(metric id, double value) { entry(gauges, id).Set(value); }
  void increment(metric id, std::uint64_t count) {
    entry(counters, id).Increment(static_cast<double>(count));
  }
  void observe(metric id, double value) { entry(histograms, id).observe(value); }
  // Asks the system; where it does not say the old values stay.
  void update_process();
  void update_runner_process();
  void update_gpu();
  void update_step_age();

  metrics_options options;
  prometheus::Labels labels;
  prometheus::Registry registry;
  std::vector<std::unique_ptr<histogram_family>> families;
  actor_table actors;
  metric_table<prometheus::Gauge> gauges{};
  metric_table<prometheus::Counter> counters{};
  metric_table<histogram> histograms{};
  std::vector<prometheus::Counter*> success;      // [finished_reasons()]
  std::vector<prometheus::Counter*> errors;       // [error_statuses()]
  std::vector<prometheus::Counter*> lost_spans;   // [span_losses()]
  std::vector<prometheus::Counter*> verified_at;  // [num_speculative_tokens], 1 at least
  std::vector<prometheus::Counter*> accepted_at;  // [num_speculative_tokens], 1 at least
  std::vector<histogram*> step_durations;         // [step_phases()]
  std::vector<prometheus::Gauge*> waiting;        // [waiting_reasons()]

  std::atomic<bool> has_work = false;
  std::atomic<std::int64_t> last_step = 0;  // steady nanoseconds

  bucket_counters executions;
  std::mutex process_mutex;
  program_info program;
  runner_process_info runner_process;
  gpu_info gpu;
  nvml_watch gpu_watch;
  std::mutex information_mutex;
  std::map<metric, prometheus::Family<prometheus::Gauge>*> information;
  std::map<metric, prometheus::Gauge*> information_samples;
};

}  // namespace troupe::metrics
