#include "runtime/executor_cuda/device/cuda_event.hpp"

#include "runtime/executor_cuda/device/cuda_error.hpp"

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

// Not being over counts as an error that nobody has asked for yet.
bool cuda_event::is_over() const {
  const cudaError_t status = cudaEventQuery(event_);
  if (status != cudaErrorNotReady) {
    check_cuda(status, "cudaEventQuery");
    return true;
  }
  cudaGetLastError();
  return false;
}

void cuda_event::hold(const cuda_stream& stream) const {
  check_cuda(cudaStreamWaitEvent(stream.get(), event_, 0), "cudaStreamWaitEvent");
}

float cuda_event::milliseconds_since(const cuda_event& begin) const {
  float passed = 0.0F;
  check_cuda(cudaEventElapsedTime(&passed, begin.event_, event_), "cudaEventElapsedTime");
  return passed;
}

}  // namespace troupe
