// The runtime API's calls for streams, events and kernel launches.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <chrono>
#include <map>
#include <utility>

#include "kernels/cuda/emulation/early_launch.hpp"
#include "kernels/cuda/emulation/faults.hpp"
#include "kernels/cuda/emulation/launch.hpp"
#include "kernels/cuda/emulation/reports.hpp"
#include "kernels/cuda/emulation/runtime_state.hpp"
#include "kernels/cuda/emulation/shared_memory.hpp"

namespace troupe::kernels::cuda::emulation {
namespace {

using guard = std::lock_guard<std::recursive_mutex>;

constexpr std::size_t shared_bytes_without_asking = std::size_t{48} << 10;

// What kernels asked for by cudaFuncSetAttribute.
std::map<const void*, std::size_t>& dynamic_limits() {
  static std::map<const void*, std::size_t> limits;
  return limits;
}

bool is_launchable(kernel_call& call) {
  const std::uint64_t threads = std::uint64_t{call.block.x} * call.block.y * call.block.z;
  const auto limit = dynamic_limits().find(call.function);
  const bool has_asked = limit != dynamic_limits().end();
  const std::size_t allowed = has_asked ? limit->second : shared_bytes_without_asking;
  call.most_shared_bytes = has_asked ? faults().shared_bytes : shared_bytes_without_asking;
  return threads >= 1 && threads <= max_block_threads && call.block.z <= 64 && call.grid.x >= 1 &&
         call.grid.y >= 1 && call.grid.z >= 1 && call.grid.x <= 0x7FFFFFFFU && call.grid.y <= 65535 &&
         call.grid.z <= 65535 && call.dynamic_bytes <= allowed;
}

bool is_event(cudaEvent_t event) {
  for (const auto& known : state().events) {
    if (known.get() == event) return true;
  }
  return false;
}

double now_milliseconds() {
  return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now().time_since_epoch())
      .count();
}

bool complete(const CUevent_st& event) { return !event.stream || event.stream->done >= event.place; }

}  // namespace

void record_launch(kernel_call call, cudaStream_t stream) {
  const guard hold(state().mutex);
  if (begin_call() != cudaSuccess) return;
  if (faults().on_launch) faults().on_launch(call.name);
  if (!is_launchable(call)) {
    report(fmt::format(
        "launch of {}: grid ({}, {}, {}), block ({}, {}, {}), {} bytes of dynamic shared memory", call.name,
        call.grid.x, call.grid.y, call.grid.z, call.block.x, call.block.y, call.block.z, call.dynamic_bytes));
    fail(cudaErrorInvalidConfiguration);
    return;
  }
  record(stream, [call = std::move(call)] { return execute(call) ? cudaSuccess : cudaErrorLaunchFailure; });
}

}  // namespace troupe::kernels::cuda::emulation

namespace emulation = troupe::kernels::cuda::emulation;

extern "C" {

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags) {
  const emulation::guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  auto made = std::make_unique<CUstream_st>();
  made->waits_for_default = (flags & cudaStreamNonBlocking) == 0;
  *stream = made.get();
  emulation::state().streams.push_back(std::move(made));
  return cudaSuccess;
}

cudaError_t cudaStreamCreate(cudaStream_t* stream) {
  return cudaStreamCreateWithFlags(stream, cudaStreamDefault);
}

cudaError_t cudaStreamCreateWithPriority(cudaStream_t* stream, unsigned flags, int) {
  return cudaStreamCreateWithFlags(stream, flags);
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  const emulation::guard hold(emulation::state().mutex);
  if (stream == nullptr || emulation::find_stream(stream) != stream) {
    return emulation::fail(cudaErrorInvalidResourceHandle);
  }
  const cudaError_t error = emulation::run_stream(*stream);
  std::erase_if(emulation::state().streams, [stream](const auto& known) { return known.get() == stream; });
  return error;
}

cudaError_t cudaStreamSynchronize(cudaStream_t handle) {
  const emulation::guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  CUstream_st* const stream = emulation::find_stream(handle);
  if (stream == nullptr) return emulation::fail(cudaErrorInvalidResourceHandle);
  if (emulation::capturing_anywhere()) return emulation::refuse_while_capturing();
  const cudaError_t error = emulation::run_stream(*stream);
  emulation::settle_launches();
  return error;
}

cudaError_t cudaDeviceSynchronize() {
  const emulation::guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  if (emulation::capturing_anywhere()) return emulation::refuse_while_capturing();
  const cudaError_t error = emulation::run_all();
  emulation::settle_launches();
  return error;
}

// Each question lets one call run, so that who asks again and again sees the work end.
cudaError_t cudaStreamQuery(cudaStream_t handle) {
  const emulation::guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  CUstream_st* const stream = emulation::find_stream(handle);
  if (stream == nullptr) return emulation::fail(cudaErrorInvalidResourceHandle);
  if (emulation::capturing_anywhere()) return emulation::refuse_while_capturing();
  if (stream->progress->pending.empty()) return cudaSuccess;
  const cudaError_t error = emulation::run_until(*stream->progress, stream->progress->done + 1);
  return error != cudaSuccess ? error : cudaErrorNotReady;
}

cudaError_t cudaEventCreateWithFlags(cudaEvent_t* event, unsigned flags) {
  const emulation::guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  auto made = std::make_unique<CUevent_st>();
  made->timed = (flags & cudaEventDisableTiming) == 0;
  *event = made.get();
  emulation::state().events.push_back(std::move(made));
  return cudaSuccess;
}

cudaError_t cudaEventCreate(cudaEvent_t* event) { return cudaEventCreateWithFlags(event, cudaEventDefault); }

cudaError_t cudaEventDestroy(cudaEvent_t event) {
  const emulation::guard hold(emulation::state().mutex);
  if (!emulation::is_event(event)) return emulation::fail(cudaErrorInvalidResourceHandle);
  std::erase_if(emulation::state().events, [event](const auto& known) { return known.get() == event; });
  return cudaSuccess;
}

cudaError_t cudaEventRecord(cudaEvent_t event, cudaStream_t handle) {
  const emulation::guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  CUstream_st* const stream = emulation::find_stream(handle);
  if (stream == nullptr || !emulation::is_event(event))
    return emulation::fail(cudaErrorInvalidResourceHandle);
  event->captured_in = stream->capture ? stream : nullptr;
  if (stream->capture) return cudaSuccess;
  const cudaError_t error = emulation::record(handle, [event] {
    if (emulation::is_event(event)) event->milliseconds = emulation::now_milliseconds();
    return cudaSuccess;
  });
  event->stream = stream->progress;
  event->place = stream->progress->recorded;
  return error;
}

cudaError_t cudaEventQuery(cudaEvent_t event) {
  const emulation::guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  if (!emulation::is_event(event)) return emulation::fail(cudaErrorInvalidResourceHandle);
  if (emulation::capturing_anywhere()) return emulation::refuse_while_capturing();
  if (emulation::complete(*event)) return cudaSuccess;
  const cudaError_t error = emulation::run_until(*event->stream, event->stream->done + 1);
  return error != cudaSuccess ? error : cudaErrorNotReady;
}

cudaError_t cudaEventSynchronize(cudaEvent_t event) {
  const emulation::guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  if (!emulation::is_event(event)) return emulation::fail(cudaErrorInvalidResourceHandle);
  if (emulation::capturing_anywhere()) return emulation::refuse_while_capturing();
  if (event->captured_in != nullptr) return emulation::fail(cudaErrorCapturedEvent);
  return event->stream ? emulation::run_until(*event->stream, event->place) : cudaSuccess;
}

cudaError_t cudaEventElapsedTime(float* milliseconds, cudaEvent_t start, cudaEvent_t end) {
  const emulation::guard hold(emulation::state().mutex);
  if (!emulation::is_event(start) || !emulation::is_event(end) || !start->timed || !end->timed ||
      !start->stream || !end->stream) {
    return emulation::fail(cudaErrorInvalidResourceHandle);
  }
  if (!emulation::complete(*start) || !emulation::complete(*end)) return cudaErrorNotReady;
  *milliseconds = static_cast<float>(end->milliseconds - start->milliseconds);
  return cudaSuccess;
}

cudaError_t cudaStreamWaitEvent(cudaStream_t handle, cudaEvent_t event, unsigned) {
  const emulation::guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  CUstream_st* const stream = emulation::find_stream(handle);
  if (stream == nullptr || !emulation::is_event(event))
    return emulation::fail(cudaErrorInvalidResourceHandle);
  if (event->captured_in != nullptr || stream->capture) {
    // A graph is one stream's list here: work of a second stream cannot join it.
    return event->captured_in == stream ? cudaSuccess : emulation::refuse_while_capturing();
  }
  if (!event->stream) return cudaSuccess;
  return emulation::record(
      handle, [other = event->stream, place = event->place] { return emulation::run_until(*other, place); });
}

cudaError_t cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void* data) {
  const emulation::guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  return emulation::record(stream, [=] {
    function(data);
    return cudaSuccess;
  });
}

cudaError_t cudaFuncSetAttribute(const void* function, cudaFuncAttribute attribute, int value) {
  const emulation::guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  if (attribute != cudaFuncAttributeMaxDynamicSharedMemorySize) return cudaSuccess;
  if (value < 0 || static_cast<std::size_t>(value) > emulation::faults().shared_bytes) {
    return emulation::fail(cudaErrorInvalidValue);
  }
  emulation::dynamic_limits()[function] = static_cast<std::size_t>(value);
  return cudaSuccess;
}

}  // extern "C"
