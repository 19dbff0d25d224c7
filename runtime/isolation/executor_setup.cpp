#include "runtime/isolation/executor_setup.hpp"

#include "runtime/isolation/step_messages.hpp"

namespace troupe {

void write(flat_writer& to, const executor_setup& setup) {
  const cpu_executor_options& options = setup.options;
  to.value(setup.model_file);
  to.value(setup.packed_weights);
  to.value(options.limits);
  to.value(options.memory_utilization);
  to.value(options.threads);
  to.text(options.kernel_path);
  to.text(options.dtype);
  to.text(options.kv_cache_dtype);
  to.array(options.end_tokens);
  to.flag(setup.cuda.has_value());
  if (!setup.cuda) return;
  to.value(setup.cuda->device_id);
  to.value(setup.cuda->memory_utilization);
  to.value(static_cast<std::uint8_t>(setup.cuda->weights));
  to.flag(setup.cuda->batch_invariant);
  to.array(setup.cuda->graph_rows);
}

void read(flat_reader& from, executor_setup& into) {
  into.model_file = from.value<std::int32_t>();
  into.packed_weights = from.value<std::int32_t>();
  cpu_executor_options& options = into.options;
  options.limits = from.value<executor_limits>();
  options.memory_utilization = from.value<double>();
  options.threads = from.value<std::int32_t>();
  options.kernel_path = from.text();
  options.dtype = from.text();
  options.kv_cache_dtype = from.text();
  from.array(options.end_tokens);
  into.cuda.reset();
  if (!from.flag()) return;
  into.cuda.emplace();
  into.cuda->device_id = from.value<std::int32_t>();
  into.cuda->memory_utilization = from.value<double>();
  into.cuda->weights = static_cast<weight_form>(from.value<std::uint8_t>());
  into.cuda->batch_invariant = from.flag();
  from.array(into.cuda->graph_rows);
}

void write(flat_writer& to, const opened_executor& opened) {
  to.value(opened.device);
  write(to, opened.layout);
  to.text(opened.kernel_path);
  to.flag(opened.overlaps);
  to.flag(opened.has_figures);
  to.flag(opened.has_plans);
  to.text(opened.plan_shape);
}

void read(flat_reader& from, opened_executor& into) {
  into.device = from.value<std::uint32_t>();
  read(from, into.layout);
  into.kernel_path = from.text();
  into.overlaps = from.flag();
  into.has_figures = from.flag();
  into.has_plans = from.flag();
  into.plan_shape = from.text();
}

}  // namespace troupe
