#include "runtime/executor_cuda/products/cold_timer.hpp"

#include <algorithm>
#include <vector>

#include "runtime/executor_cuda/device/cuda_device.hpp"
#include "runtime/executor_cuda/device/cuda_error.hpp"
#include "runtime/executor_cuda/device/cuda_event.hpp"

namespace troupe {

cold_timer::cold_timer(const cuda_stream& stream, std::size_t rounds)
    : stream_(stream), rounds_(rounds), flushed_(2 * l2_cache_bytes()) {}

float cold_timer::time(const std::function<void()>& work) const {
  cuda_event begin(cuda_event::use::timing);
  cuda_event end(cuda_event::use::timing);
  std::vector<float> took(rounds_);
  work();  // the first launch loads the kernel
  check_launches("what is timed");
  for (float& each : took) {
    stream_.fill(flushed_.data(), 0, flushed_.size());
    begin.record(stream_);
    work();
    end.record(stream_);
    end.synchronize();
    each = end.milliseconds_since(begin);
  }
  const auto middle = took.begin() + static_cast<std::ptrdiff_t>(rounds_ / 2);
  std::ranges::nth_element(took, middle);
  return *middle;
}

}  // namespace troupe
