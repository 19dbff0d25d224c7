#include "metrics/service_figures.hpp"

#include <algorithm>
#include <cmath>
#include <cstdlib>

namespace troupe::metrics {
namespace {

std::optional<double> share(double part, double whole) {
  if (whole <= 0) return std::nullopt;
  return part / whole;
}

actor_figures figures_of_actor(const std::string& actor, const exposition& now, const interval& growth) {
  const std::map<std::string, std::string> labels{{"actor", actor}};
  actor_figures out;
  out.actor = actor;
  out.mailbox_size = now.sum("troupe_actor_mailbox_size", labels).value_or(0);
  out.messages_per_second = growth.rate("troupe_actor_message_seconds_count", labels);
  out.message_time = growth.mean("troupe_actor_message_seconds", labels);
  out.restarts = now.sum("troupe_actor_restarts_total", labels).value_or(0);
  return out;
}

}  // namespace

double interval::growth(const std::string& name, const std::map<std::string, std::string>& labels) const {
  const double now = after_.sum(name, labels).value_or(0);
  const double then = before_.sum(name, labels).value_or(0);
  return now < then ? now : now - then;
}

std::optional<double> interval::mean(const std::string& histogram,
                                     const std::map<std::string, std::string>& labels) const {
  return share(growth(histogram + "_sum", labels), growth(histogram + "_count", labels));
}

std::optional<double> interval::quantile(double q, const std::string& histogram) const {
  const std::string buckets = histogram + "_bucket";
  std::map<double, double> cumulative;  // by upper bound
  for (const std::string& bound : after_.label_values(buckets, "le"))
    cumulative[std::strtod(bound.c_str(), nullptr)] = growth(buckets, {{"le", bound}});
  if (cumulative.empty() || cumulative.rbegin()->second <= 0) return std::nullopt;
  const double rank = q * cumulative.rbegin()->second;
  double lower_bound = 0, below = 0;
  for (const auto& [upper_bound, count] : cumulative) {
    if (count >= rank && count > below) {
      if (std::isinf(upper_bound)) return lower_bound;
      return lower_bound + (upper_bound - lower_bound) * (rank - below) / (count - below);
    }
    lower_bound = upper_bound;
    below = count;
  }
  return lower_bound;
}

service_figures figures_of(const exposition& before, const exposition& after, seconds elapsed) {
  const interval growth(before, after, elapsed);
  const auto latencies = [&growth](const std::string& name) {
    return latency_figures{growth.quantile(0.5, name), growth.quantile(0.99, name)};
  };
  service_figures out;
  out.model = after.label("vllm:num_requests_running", "model_name");
  out.version = after.label("troupe_info", "version");
  out.cpu = after.label("troupe_info", "cpu");
  out.kernel_path = after.label("troupe_info", "kernel_path");
  out.threads = after.label("troupe_info", "threads");
  out.live = after.sum("troupe_live").value_or(0) > 0;
  out.ready = after.sum("troupe_ready").value_or(0) > 0;
  out.last_reload_refused = after.sum("troupe_last_reload_refused").value_or(0) > 0;
  out.running = after.sum("vllm:num_requests_running").value_or(0);
  out.waiting = after.sum("vllm:num_requests_waiting").value_or(0);
  out.ended_per_second = growth.rate("vllm:request_success_total");
  out.errors_per_second = growth.rate("troupe_request_errors_total");
  out.generated_per_second = growth.rate("vllm:generation_tokens_total");
  out.prompt_per_second = growth.rate("vllm:prompt_tokens_total");
  out.prefix_cache_hits =
      share(growth.growth("vllm:prefix_cache_hits_total"), growth.growth("vllm:prefix_cache_queries_total"));
  out.first_token = latencies("vllm:time_to_first_token_seconds");
  out.inter_token = latencies("vllm:inter_token_latency_seconds");
  out.kv_cache_usage = after.sum("vllm:kv_cache_usage_perc").value_or(0);
  out.preemptions = after.sum("vllm:num_preemptions_total").value_or(0);
  out.accepted_drafts = share(growth.growth("vllm:spec_decode_num_accepted_tokens_total"),
                              growth.growth("vllm:spec_decode_num_draft_tokens_total"));
  out.last_step_age = after.sum("troupe_last_step_age_seconds").value_or(0);
  out.cpu_cores = growth.rate("process_cpu_seconds_total") + growth.rate("troupe_runner_cpu_seconds_total");
  out.resident_bytes = after.sum("process_resident_memory_bytes").value_or(0) +
                       after.sum("troupe_runner_resident_memory_bytes").value_or(0);
  for (const std::string& actor : after.label_values("troupe_actor_restarts_total", "actor"))
    out.actors.push_back(figures_of_actor(actor, after, growth));
  return out;
}

}  // namespace troupe::metrics
