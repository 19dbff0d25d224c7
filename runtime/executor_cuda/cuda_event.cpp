#include "runtime/executor_cuda/cuda_event.hpp"

#include "runtime/executor_cuda/cuda_error.hpp"

namespace troupe {

cuda_event::cuda_event(use use) {
  const unsigned flags = use == use::timing ? cudaEventDefault : cudaEventDisableTiming;
  check_cuda(cudaEventCreateWithFlags(&event_, flags), "cudaEventCreateWithFlags");
}

cuda_event::~cuda_event() { cudaEventDestroy(event_); }

void cuda_event::record(const cuda_stream& stream) {
  check_cuda(cudaEventRecord(event_, stream.get()), "cudaEventRecord");
}

void cuda_event::synchronize() const { check_cuda(cudaEventSynchronize(event_), "cudaEventSynchronize"); }

float cuda_event::milliseconds_since(const cuda_event& begin) const {
  float passed = 0.0F;
  check_cuda(cudaEventElapsedTime(&passed, begin.event_, event_), "cudaEventElapsedTime");
  return passed;
}

}  // namespace troupe
