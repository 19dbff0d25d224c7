// Times work with a cold L2 cache, as weights are found in the midst of a step.
#pragma once
#include <cstddef>
#include <functional>

#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "runtime/executor_cuda/device/device_memory.hpp"

namespace troupe {

class cold_timer {
 public:
  // Takes twice the cache of the device's memory. `rounds`: an odd number. Throws what check_cuda() throws.
  cold_timer(const cuda_stream& stream, std::size_t rounds);
  // Milliseconds of what `work` asks the stream for: the median of the rounds, each behind a write of more
  // than the cache holds. Throws what `work` and check_cuda() throw.
  float time(const std::function<void()>& work) const;

 private:
  const cuda_stream& stream_;
  std::size_t rounds_;
  device_memory flushed_;
};

}  // namespace troupe
