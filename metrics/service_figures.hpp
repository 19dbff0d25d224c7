// What a person wants to know of a running service, made of two readings of its /metrics.
#pragma once
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "metrics/engine_metrics.hpp"
#include "metrics/exposition.hpp"

namespace troupe::metrics {

// How much counters grow between two readings.
class interval {
 public:
  // `elapsed`, in seconds: greater than 0.
  interval(const exposition& before, const exposition& after, seconds elapsed)
      : before_(before), after_(after), elapsed_(elapsed) {}

  // A counter that has shrunk began anew: with another process.
  double growth(const std::string& name, const std::map<std::string, std::string>& labels = {}) const;
  double rate(const std::string& name, const std::map<std::string, std::string>& labels = {}) const {
    return growth(name, labels) / elapsed_;
  }
  // The mean of what a histogram has observed meanwhile; nothing where that is nothing.
  std::optional<double> mean(const std::string& histogram,
                             const std::map<std::string, std::string>& labels = {}) const;
  // The q-quantile of the same, as Prometheus estimates it: linear within a bucket, and the highest bound for
  // what lies beyond it.
  std::optional<double> quantile(double q, const std::string& histogram) const;

 private:
  const exposition& before_;
  const exposition& after_;
  seconds elapsed_;
};

struct actor_figures {
  std::string actor;
  double mailbox_size = 0;
  double messages_per_second = 0;
  std::optional<seconds> message_time;  // mean
  double restarts = 0;
};

struct latency_figures {
  std::optional<seconds> median;
  std::optional<seconds> p99;
};

struct service_figures {
  std::string model, version, cpu, kernel_path, threads;
  bool live = false;
  bool ready = false;
  bool last_reload_refused = false;
  double running = 0;
  double waiting = 0;
  double ended_per_second = 0;
  double errors_per_second = 0;
  double generated_per_second = 0;          // tokens
  double prompt_per_second = 0;             // tokens
  std::optional<double> prefix_cache_hits;  // share of the prompt tokens looked for
  latency_figures first_token;
  latency_figures inter_token;
  double kv_cache_usage = 0;
  double preemptions = 0;
  std::optional<double> accepted_drafts;  // share of the draft tokens
  seconds last_step_age = 0;
  double cpu_cores = 0;  // these two of the service and its runner together
  double resident_bytes = 0;
  std::vector<actor_figures> actors;
};

service_figures figures_of(const exposition& before, const exposition& after, seconds elapsed);

}  // namespace troupe::metrics
