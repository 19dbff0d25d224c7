// The integers of steps on their way to the device: written into pinned memory, sent by one transfer.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>

#include "runtime/executor_cuda/device/cuda_event.hpp"
#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"
#include "runtime/executor_cuda/device/pinned_memory.hpp"
#include "runtime/executor_cuda/step/flat_step.hpp"

namespace troupe {

class step_stage {
 public:
  // Steps of up to `integers` (flat_step::count). Throws what check_cuda() throws.
  explicit step_stage(std::size_t integers);

  // `flattener` writes the step, which it was asked the shape of last, and the stream carries it. The arrays
  // on the device: at the same addresses for every step of an equal shape, and true until the next call.
  // Waits only where two steps before this one are still on their way. Throws std::invalid_argument for a
  // step that is too large.
  flat_step send(const device_batch& batch, const flat_step_shape& shape, step_flattener& flattener,
                 const cuda_stream& stream);

  std::size_t bytes() const { return device_.bytes(); }  // on the device

 private:
  struct buffer {
    pinned_memory memory;
    cuda_event sent;
  };
  std::array<buffer, 2> buffers_;
  std::size_t next_ = 0;
  device_array<std::int32_t> device_;
};

}  // namespace troupe
