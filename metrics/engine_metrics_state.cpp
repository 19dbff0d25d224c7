#include "metrics/engine_metrics_state.hpp"

#include <algorithm>
#include <chrono>
#include <span>
#include <string_view>

#include "metrics/process_usage.hpp"

namespace troupe::metrics {
namespace {

prometheus::Labels base_labels(const metrics_options& options) {
  return {{"model_name", options.model_name}, {"engine", options.engine}};
}

label_list in_order(const prometheus::Labels& labels) { return {labels.begin(), labels.end()}; }

template <class Builder>
auto& add_family(Builder builder, metric id, prometheus::Registry& registry, prometheus::Labels labels) {
  const metric_description& what = describe(id);
  if (is_of_process(id)) labels.clear();
  return builder.Name(std::string(what.name)).Help(std::string(what.help)).Labels(labels).Register(registry);
}

}  // namespace

std::int64_t steady_nanoseconds() { return std::chrono::steady_clock::now().time_since_epoch().count(); }

engine_metrics::state::state(const metrics_options& given)
    : options(given),
      labels(base_labels(given)),
      actors(in_order(labels)),
      executions(in_order(labels)),
      gpu_watch(given.nvml_library) {
  for (const metric_description& what : catalogue()) add(what);
}

void engine_metrics::state::add(const metric_description& what) {
  if (is_of_actors(what.id) || what.id == metric::bucket_executions) return;
  switch (what.type) {
    case metric_type::gauge:
      return add_gauges(what);
    case metric_type::counter:
      return add_counters(what);
    case metric_type::histogram:
      return add_histograms(what);
  }
}

void engine_metrics::state::add_gauges(const metric_description& what) {
  auto& family = add_family(prometheus::BuildGauge(), what.id, registry, labels);
  if (what.id == metric::requests_waiting_by_reason) {
    for (const std::string_view reason : waiting_reasons())
      waiting.push_back(&family.Add({{"reason", std::string(reason)}}));
  } else if (what.labels.empty()) {
    gauges[static_cast<std::size_t>(what.id)] = &family.Add({});
  } else {
    information[what.id] = &family;
    information_samples[what.id] = &family.Add({});
  }
}

void engine_metrics::state::add_counters(const metric_description& what) {
  auto& family = add_family(prometheus::BuildCounter(), what.id, registry, labels);
  const auto add_each = [&](std::span<const std::string_view> values) {
    std::vector<prometheus::Counter*> all;
    for (const std::string_view value : values)
      all.push_back(&family.Add({{std::string(what.labels.front()), std::string(value)}}));
    return all;
  };
  const auto add_positions = [&] {
    std::vector<prometheus::Counter*> all;
    for (std::int32_t position = 0; position < std::max(options.num_speculative_tokens, 1); ++position)
      all.push_back(&family.Add({{"position", std::to_string(position)}}));
    return all;
  };
  if (what.id == metric::draft_tokens_by_position) {
    verified_at = add_positions();
  } else if (what.id == metric::accepted_draft_tokens_by_position) {
    accepted_at = add_positions();
  } else if (what.id == metric::request_success) {
    success = add_each(finished_reasons());
  } else if (what.id == metric::request_errors) {
    errors = add_each(error_statuses());
  } else if (what.id == metric::dropped_spans) {
    lost_spans = add_each(span_losses());
  } else {
    counters[static_cast<std::size_t>(what.id)] = &family.Add({});
  }
}

void engine_metrics::state::add_histograms(const metric_description& what) {
  families.push_back(std::make_unique<histogram_family>(what, in_order(labels)));
  if (what.id != metric::step_time) {
    histograms[static_cast<std::size_t>(what.id)] = &families.back()->add({});
    return;
  }
  for (const std::string_view phase : step_phases())
    step_durations.push_back(&families.back()->add({{"phase", std::string(phase)}}));
}

void engine_metrics::state::set_information(metric id, const prometheus::Labels& sample_labels) {
  const std::lock_guard lock(information_mutex);
  prometheus::Gauge*& sample = information_samples[id];
  information[id]->Remove(sample);
  sample = &information[id]->Add(sample_labels);
  sample->Set(1);
}

void engine_metrics::state::tell_program() {
  set_information(metric::info, {{"version", program.version},
                                 {"cpu", program.cpu},
                                 {"kernel_path", program.kernel_path},
                                 {"threads", std::to_string(program.threads)}});
}

void engine_metrics::state::update_process() {
  const auto usage = read_process_usage();
  if (!usage) return;
  const std::lock_guard lock(process_mutex);
  prometheus::Counter& cpu = entry(counters, metric::process_cpu);
  cpu.Increment(std::max(0.0, usage->cpu_seconds - cpu.Value()));
  set(metric::process_resident_memory, usage->resident_bytes);
  set(metric::process_virtual_memory, usage->virtual_bytes);
  set(metric::process_open_descriptors, usage->open_descriptors);
  set(metric::process_max_descriptors, usage->max_descriptors);
  set(metric::process_start, usage->start_seconds);
}

// CPU time goes on from one process to the next.
void engine_metrics::state::update_runner_process() {
  const std::lock_guard lock(process_mutex);
  const auto usage = runner_process.id > 0 ? read_process_usage(runner_process.id) : std::nullopt;
  set(metric::runner_resident_memory, usage ? usage->resident_bytes : 0);
  if (!usage) return;
  prometheus::Counter& cpu = entry(counters, metric::runner_cpu);
  cpu.Increment(std::max(0.0, runner_process.ended_cpu_seconds + usage->cpu_seconds - cpu.Value()));
}

// What NVML does not tell the runner does, as far as it knows. Of a part of a device (MIG) NVML tells the
// whole device's memory.
void engine_metrics::state::update_gpu() {
  constexpr double least_of_whole = 0.9;  // a driver keeps some for itself
  const std::lock_guard lock(process_mutex);
  nvml_reading told = gpu_watch.latest().value_or(nvml_reading{});
  const auto total = static_cast<double>(gpu.memory_total);
  if (total < least_of_whole * told.total_bytes || told.total_bytes == 0) {
    told.total_bytes = total;
    told.free_bytes = static_cast<double>(gpu.memory_free);
    told.used_bytes = told.total_bytes - told.free_bytes;
  }
  set(metric::gpu_memory_used, told.used_bytes);
  set(metric::gpu_memory_free, told.free_bytes);
  set(metric::gpu_memory_total, told.total_bytes);
  set(metric::gpu_graphs, static_cast<double>(gpu.graphs));
  set(metric::gpu_power, told.watts);
  set(metric::gpu_temperature, told.celsius);
}

void engine_metrics::state::update_step_age() {
  const std::int64_t now = steady_nanoseconds();
  const std::int64_t age = has_work.load() ? std::max<std::int64_t>(0, now - last_step.load()) : 0;
  set(metric::last_step_age, in_seconds(std::chrono::nanoseconds(age)));
}

}  // namespace troupe::metrics
