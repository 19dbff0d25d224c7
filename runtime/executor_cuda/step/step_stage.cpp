#include "runtime/executor_cuda/step/step_stage.hpp"

#include <stdexcept>

namespace troupe {

step_stage::step_stage(std::size_t integers) : device_(integers) {
  for (buffer& each : buffers_) each.memory = pinned_memory(integers * sizeof(std::int32_t));
}

flat_step step_stage::send(const device_batch& batch, const flat_step_shape& shape, step_flattener& flattener,
                           const cuda_stream& stream) {
  const std::size_t count = lay_out(shape, nullptr).count;
  if (count > device_.size()) throw std::invalid_argument("step: more than the device has room for");
  buffer& into = buffers_[next_++ % buffers_.size()];
  into.sent.synchronize();
  flattener.flatten(batch, shape, lay_out(shape, into.memory.as<std::int32_t>().data()));
  stream.copy_to_device(device_.data(), into.memory.data(), count * sizeof(std::int32_t));
  into.sent.record(stream);
  return lay_out(shape, device_.data());
}

}  // namespace troupe
