// Up to how many rows a decoder's products are computed by kernels/cuda/few_row_product.hpp.
#pragma once
#include <cstdint>
#include <functional>

#include "runtime/executor_cuda/cuda_stream.hpp"
#include "runtime/executor_cuda/device_memory.hpp"

namespace troupe {

enum class few_row_products : std::uint8_t {
  never,
  measured,  // where that was faster than the library's product with the kernels beside it
  always,    // wherever there is room: for tests
};

// Of each product of a layer, and of the logits; 0: none.
struct few_row_limits {
  std::int32_t qkv = 0;
  std::int32_t output = 0;
  std::int32_t gate_up = 0;
  std::int32_t down = 0;
  std::int32_t head = 0;
};

// Times work with a cold L2 cache, as weights are found in the midst of a step.
class cold_timer {
 public:
  // Takes twice the cache of the device's memory. Throws what check_cuda() throws.
  explicit cold_timer(const cuda_stream& stream);
  // Milliseconds of what `work` asks the stream for: the median of some rounds.
  float time(const std::function<void()>& work) const;

 private:
  const cuda_stream& stream_;
  device_memory flushed_;
};

}  // namespace troupe
