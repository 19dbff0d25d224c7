#include "runtime/executor_cuda/few_row_choice.hpp"

#include <algorithm>
#include <array>

#include "runtime/executor_cuda/cuda_device.hpp"
#include "runtime/executor_cuda/cuda_event.hpp"

namespace troupe {

cold_timer::cold_timer(const cuda_stream& stream) : stream_(stream), flushed_(2 * l2_cache_bytes()) {}

float cold_timer::time(const std::function<void()>& work) const {
  constexpr std::size_t rounds = 7;
  cuda_event begin(cuda_event::use::timing);
  cuda_event end(cuda_event::use::timing);
  std::array<float, rounds> took{};
  work();  // the first launch loads the kernel
  for (float& each : took) {
    stream_.fill(flushed_.data(), 0, flushed_.size());
    begin.record(stream_);
    work();
    end.record(stream_);
    end.synchronize();
    each = end.milliseconds_since(begin);
  }
  std::ranges::nth_element(took, took.begin() + rounds / 2);
  return took[rounds / 2];
}

}  // namespace troupe
