#include "kernels/cuda/emulation/runtime_state.hpp"

#include <fmt/format.h>

#include <utility>

#include "kernels/cuda/emulation/faults.hpp"
#include "kernels/cuda/emulation/reports.hpp"

namespace troupe::kernels::cuda::emulation {
namespace {

bool outlives_the_call(cudaError_t error) {
  switch (error) {
    case cudaErrorIllegalAddress:
    case cudaErrorLaunchFailure:
    case cudaErrorMisalignedAddress:
    case cudaErrorHardwareStackError:
    case cudaErrorIllegalInstruction:
    case cudaErrorECCUncorrectable:
    case cudaErrorDevicesUnavailable:
    case cudaErrorAssert:
      return true;
    default:
      return false;
  }
}

cudaError_t run_first(stream_progress& stream) {
  const recorded_call call = std::move(stream.pending.front());
  stream.pending.pop_front();
  const cudaError_t error = state().sticky == cudaSuccess ? call() : state().sticky;
  stream.done++;
  return error == cudaSuccess ? cudaSuccess : fail(error);
}

}  // namespace

runtime_state& state() {
  static runtime_state the_state;
  return the_state;
}

fault_plan& faults() {
  static fault_plan plan;
  return plan;
}

cudaError_t fail(cudaError_t error) {
  if (error == cudaSuccess) return error;
  state().last = error;
  if (outlives_the_call(error)) state().sticky = error;
  return error;
}

cudaError_t begin_call() {
  if (state().sticky != cudaSuccess) return fail(state().sticky);
  fault_plan& plan = faults();
  if (plan.failing_call > 0 && --plan.failing_call == 0) return fail(plan.error);
  return cudaSuccess;
}

CUstream_st* find_stream(cudaStream_t stream) {
  if (stream == nullptr || stream == cudaStreamLegacy || stream == cudaStreamPerThread)
    return &state().default_stream;
  for (const auto& known : state().streams) {
    if (known.get() == stream) return stream;
  }
  return nullptr;
}

cudaError_t record(cudaStream_t handle, recorded_call call) {
  CUstream_st* const stream = find_stream(handle);
  if (stream == nullptr) return fail(cudaErrorInvalidResourceHandle);
  if (stream->capture) {
    stream->capture->calls.push_back(std::move(call));
    return cudaSuccess;
  }
  // The default stream and those that are not "non-blocking" wait for each other.
  runtime_state& all = state();
  if (stream == &all.default_stream) {
    if (capturing_anywhere()) return refuse_while_capturing();
    for (const auto& other : all.streams) {
      if (other->waits_for_default) run_stream(*other);
    }
  } else if (stream->waits_for_default) {
    run_stream(all.default_stream);
  }
  stream->progress->pending.push_back(std::move(call));
  stream->progress->recorded++;
  return cudaSuccess;
}

cudaError_t run_until(stream_progress& stream, std::uint64_t place) {
  cudaError_t error = cudaSuccess;
  while (stream.done < place && !stream.pending.empty()) {
    const cudaError_t one = run_first(stream);
    if (one != cudaSuccess) error = one;
  }
  return error;
}

cudaError_t run_stream(CUstream_st& stream) { return run_until(*stream.progress, stream.progress->recorded); }

cudaError_t run_all() {
  cudaError_t error = run_stream(state().default_stream);
  for (const auto& stream : state().streams) {
    const cudaError_t one = run_stream(*stream);
    if (one != cudaSuccess) error = one;
  }
  return error;
}

bool capturing_anywhere() {
  for (const auto& stream : state().streams) {
    if (stream->capture) return true;
  }
  return false;
}

cudaError_t refuse_while_capturing() {
  for (const auto& stream : state().streams) {
    if (stream->capture) stream->capture_broken = true;
  }
  return fail(cudaErrorStreamCaptureUnsupported);
}

}  // namespace troupe::kernels::cuda::emulation
