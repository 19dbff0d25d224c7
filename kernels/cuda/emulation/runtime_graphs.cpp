// The runtime API's calls for graphs: a captured stream's calls in a list.
#include <cuda_runtime_api.h>

#include <memory>
#include <utility>

#include "kernels/cuda/emulation/device_memory.hpp"
#include "kernels/cuda/emulation/early_launch.hpp"
#include "kernels/cuda/emulation/runtime_state.hpp"

namespace emulation = troupe::kernels::cuda::emulation;

namespace {

// Of the device, for a graph of so many calls.
constexpr std::size_t graph_bytes(std::size_t calls) { return 256 * (calls + 1); }

}  // namespace

extern "C" {

cudaError_t cudaStreamBeginCapture(cudaStream_t handle, cudaStreamCaptureMode) {
  const std::lock_guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  CUstream_st* const stream = emulation::find_stream(handle);
  if (stream == nullptr) return emulation::fail(cudaErrorInvalidResourceHandle);
  if (stream == &emulation::state().default_stream) return emulation::fail(cudaErrorStreamCaptureUnsupported);
  if (stream->capture) return emulation::fail(cudaErrorIllegalState);
  stream->capture = std::make_unique<CUgraph_st>();
  stream->capture_broken = false;
  return cudaSuccess;
}

// The capture is over whatever it returns.
cudaError_t cudaStreamEndCapture(cudaStream_t handle, cudaGraph_t* graph) {
  const std::lock_guard hold(emulation::state().mutex);
  CUstream_st* const stream = emulation::find_stream(handle);
  std::unique_ptr<CUgraph_st> captured = stream == nullptr ? nullptr : std::move(stream->capture);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  if (stream == nullptr) return emulation::fail(cudaErrorInvalidResourceHandle);
  if (!captured) return emulation::fail(cudaErrorIllegalState);
  *graph = nullptr;
  if (stream->capture_broken) return emulation::fail(cudaErrorStreamCaptureInvalidated);
  *graph = captured.release();
  return cudaSuccess;
}

cudaError_t cudaStreamIsCapturing(cudaStream_t handle, cudaStreamCaptureStatus* status) {
  const std::lock_guard hold(emulation::state().mutex);
  CUstream_st* const stream = emulation::find_stream(handle);
  if (stream == nullptr) return emulation::fail(cudaErrorInvalidResourceHandle);
  *status = cudaStreamCaptureStatusNone;
  if (stream->capture) {
    *status = stream->capture_broken ? cudaStreamCaptureStatusInvalidated : cudaStreamCaptureStatusActive;
  }
  return cudaSuccess;
}

cudaError_t cudaGraphInstantiate(cudaGraphExec_t* executable, cudaGraph_t graph, unsigned long long) {
  const std::lock_guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  void* const memory = emulation::allocate_device_memory(graph_bytes(graph->calls.size()));
  if (memory == nullptr) return emulation::fail(cudaErrorMemoryAllocation);
  *executable = new CUgraphExec_st{graph->calls, memory};
  return cudaSuccess;
}

cudaError_t cudaGraphGetNodes(cudaGraph_t graph, cudaGraphNode_t* nodes, size_t* count) {
  const std::lock_guard hold(emulation::state().mutex);
  if (nodes != nullptr) return emulation::fail(cudaErrorNotSupported);  // calls have no handles here
  *count = graph->calls.size();
  return cudaSuccess;
}

cudaError_t cudaGraphUpload(cudaGraphExec_t, cudaStream_t) { return emulation::begin_call(); }

// The calls of one launch run together: nothing of another stream comes between.
cudaError_t cudaGraphLaunch(cudaGraphExec_t executable, cudaStream_t stream) {
  const std::lock_guard hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  return emulation::record(stream, [calls = executable->calls] {
    emulation::settle_launches();
    for (const auto& call : calls) {
      if (const cudaError_t error = call(); error != cudaSuccess) return error;
    }
    return cudaSuccess;
  });
}

cudaError_t cudaGraphDestroy(cudaGraph_t graph) {
  const std::lock_guard hold(emulation::state().mutex);
  delete graph;
  return cudaSuccess;
}

cudaError_t cudaGraphExecDestroy(cudaGraphExec_t executable) {
  const std::lock_guard hold(emulation::state().mutex);
  emulation::free_device_memory(executable->device_memory);
  delete executable;
  return cudaSuccess;
}

}  // extern "C"
