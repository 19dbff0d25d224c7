// The runtime API's calls for the device and for errors.
#include <cuda_runtime_api.h>

#include <cstring>
#include <string_view>
#include <utility>

#include "kernels/cuda/emulation/device_memory.hpp"
#include "kernels/cuda/emulation/execution.hpp"
#include "kernels/cuda/emulation/faults.hpp"
#include "kernels/cuda/emulation/runtime_state.hpp"
#include "kernels/cuda/emulation/shared_memory.hpp"

namespace emulation = troupe::kernels::cuda::emulation;

namespace {

constexpr int processors = 4;
constexpr int l2_cache_bytes = 1 << 16;

}  // namespace

extern "C" {

cudaError_t cudaGetLastError() {
  const std::lock_guard hold(emulation::state().mutex);
  const cudaError_t last = std::exchange(emulation::state().last, emulation::state().sticky);
  return last;
}

cudaError_t cudaPeekAtLastError() {
  const std::lock_guard hold(emulation::state().mutex);
  return emulation::state().last;
}

const char* cudaGetErrorName(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "cudaSuccess";
    case cudaErrorMemoryAllocation:
      return "cudaErrorMemoryAllocation";
    case cudaErrorIllegalAddress:
      return "cudaErrorIllegalAddress";
    case cudaErrorLaunchFailure:
      return "cudaErrorLaunchFailure";
    case cudaErrorInvalidValue:
      return "cudaErrorInvalidValue";
    case cudaErrorInvalidConfiguration:
      return "cudaErrorInvalidConfiguration";
    case cudaErrorInvalidResourceHandle:
      return "cudaErrorInvalidResourceHandle";
    case cudaErrorStreamCaptureUnsupported:
      return "cudaErrorStreamCaptureUnsupported";
    case cudaErrorStreamCaptureInvalidated:
      return "cudaErrorStreamCaptureInvalidated";
    case cudaErrorNotReady:
      return "cudaErrorNotReady";
    case cudaErrorNoDevice:
      return "cudaErrorNoDevice";
    default:
      return "cudaErrorUnknown";
  }
}

const char* cudaGetErrorString(cudaError_t error) { return cudaGetErrorName(error); }

// All memory stays allocated, unlike a device's: who resets must free nothing and use nothing of before.
cudaError_t cudaDeviceReset() {
  const std::lock_guard hold(emulation::state().mutex);
  for (const auto& stream : emulation::state().streams) *stream->progress = {};
  *emulation::state().default_stream.progress = {};
  emulation::state().last = emulation::state().sticky = cudaSuccess;
  return cudaSuccess;
}

cudaError_t cudaDriverGetVersion(int* version) {
  *version = CUDART_VERSION;
  return cudaSuccess;
}

cudaError_t cudaRuntimeGetVersion(int* version) { return cudaDriverGetVersion(version); }

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return emulation::begin_call();
}

cudaError_t cudaSetDevice(int device) {
  return device == 0 ? emulation::begin_call() : emulation::fail(cudaErrorInvalidDevice);
}

cudaError_t cudaGetDevice(int* device) {
  *device = 0;
  return emulation::begin_call();
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int device) {
  if (device != 0) return emulation::fail(cudaErrorInvalidDevice);
  *properties = {};
  std::strncpy(properties->name, "emulated device", sizeof(properties->name) - 1);
  properties->totalGlobalMem = emulation::total_device_bytes();
  properties->sharedMemPerBlock = std::size_t{48} << 10;
  properties->sharedMemPerBlockOptin = emulation::faults().shared_bytes;
  properties->warpSize = static_cast<int>(emulation::warp_size);
  properties->maxThreadsPerBlock = static_cast<int>(emulation::max_block_threads);
  properties->major = emulation::faults().compute_capability / 10;
  properties->minor = emulation::faults().compute_capability % 10;
  properties->multiProcessorCount = processors;
  properties->l2CacheSize = l2_cache_bytes;
  return emulation::begin_call();
}

cudaError_t cudaDeviceGetPCIBusId(char* bus_id, int bytes, int device) {
  constexpr std::string_view place = "0000:65:00.0";
  if (device != 0) return emulation::fail(cudaErrorInvalidDevice);
  if (bytes <= static_cast<int>(place.size())) return emulation::fail(cudaErrorInvalidValue);
  std::memcpy(bus_id, place.data(), place.size());
  bus_id[place.size()] = 0;
  return emulation::begin_call();
}

cudaError_t cudaDeviceGetAttribute(int* value, cudaDeviceAttr attribute, int device) {
  if (device != 0) return emulation::fail(cudaErrorInvalidDevice);
  switch (attribute) {
    case cudaDevAttrMultiProcessorCount:
      *value = processors;
      break;
    case cudaDevAttrComputeCapabilityMajor:
      *value = 9;
      break;
    case cudaDevAttrComputeCapabilityMinor:
      *value = 0;
      break;
    case cudaDevAttrMaxSharedMemoryPerBlockOptin:
      *value = static_cast<int>(emulation::faults().shared_bytes);
      break;
    case cudaDevAttrL2CacheSize:
      *value = l2_cache_bytes;
      break;
    default:
      return emulation::fail(cudaErrorNotSupported);
  }
  return emulation::begin_call();
}

}  // extern "C"
