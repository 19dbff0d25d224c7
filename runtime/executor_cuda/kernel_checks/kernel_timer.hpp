// Times one thing after another on a stream of its own and works out what share of the device that is.
#pragma once
#include <cstddef>
#include <cstdint>
#include <functional>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "runtime/executor_cuda/device/cuda_stream.hpp"
#include "runtime/executor_cuda/kernel_checks/kernel_timings.hpp"

namespace troupe::checks {

class kernel_timer {
 public:
  kernel_timer(const timing_options& options, timing_report& report) : options_(options), report_(report) {}

  const timing_options& options() const { return options_; }
  const cuda_stream& stream() const { return stream_; }

  // Microseconds of one `launch`, which only asks stream() for work: the median of rounds of several. Each
  // call is told its number, so that it can take turns through buffers.
  double time(const std::function<void(std::int32_t number)>& launch) const;
  // The same of several things in turns, so that whatever else the device does meets all; `count` launches a
  // round.
  std::vector<double> time_in_turns(const std::vector<std::function<void(std::int32_t)>>& launches,
                                    std::int32_t count) const;

  // Tells it as shares of the report's limits, so far as these are known.
  void add(kernel_timing timing);

  // Runs `part`; where it throws, that `what` could not be timed becomes one of the report's failures.
  // Whether it ran to its end. Throws device_lost alone.
  bool attempt(const std::string& what, const std::function<void()>& part);

 private:
  const timing_options& options_;
  timing_report& report_;
  cuda_stream stream_;
};

// Fills memory of the device with repetitions of some bytes.
void fill_repeating(void* memory, std::size_t bytes, std::span<const std::byte> pattern);
// With bf16 numbers around 0.
void fill_normal_bf16(void* memory, std::size_t bytes, float deviation);
void fill_normal_f32(void* memory, std::size_t bytes, float deviation);

void time_elementwise(kernel_timer& timer);
void time_attention(kernel_timer& timer);
void time_sampling(kernel_timer& timer);
void time_products(kernel_timer& timer);
void time_quantized_products(kernel_timer& timer);

}  // namespace troupe::checks
