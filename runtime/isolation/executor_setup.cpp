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
  to.value(static_cast<std::uint8_t>(setup.cuda ? 1 : 0));
  if (!setup.cuda) return;
  to.value(setup.cuda->device_id);
  to.value(setup.cuda->memory_utilization);
  to.value(static_cast<std::uint8_t>(setup.cuda->weights));
  to.value(static_cast<std::uint8_t>(setup.cuda->batch_invariant ? 1 : 0));
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
  if (from.value<std::uint8_t>() == 0) return;
  into.cuda.emplace();
  into.cuda->device_id = from.value<std::int32_t>();
  into.cuda->memory_utilization = from.value<double>();
  into.cuda->weights = static_cast<weight_form>(from.value<std::uint8_t>());
  into.cuda->batch_invariant = from.value<std::uint8_t>() != 0;
  from.array(into.cuda->graph_rows);
}

void write(flat_writer& to, const opened_executor& opened) {
  to.value(opened.device);
  write(to, opened.layout);
  to.text(opened.kernel_path);
  to.value(static_cast<std::uint8_t>(opened.overlaps ? 1 : 0));
  to.value(static_cast<std::uint8_t>(opened.has_figures ? 1 : 0));
  to.value(static_cast<std::uint8_t>(opened.has_plans ? 1 : 0));
  to.text(opened.plan_shape);
}

void read(flat_reader& from, opened_executor& into) {
  into.device = from.value<std::uint32_t>();
  read(from, into.layout);
  into.kernel_path = from.text();
  into.overlaps = from.value<std::uint8_t>() != 0;
  into.has_figures = from.value<std::uint8_t>() != 0;
  into.has_plans = from.value<std::uint8_t>() != 0;
  into.plan_shape = from.text();
}

}  // namespace troupe
