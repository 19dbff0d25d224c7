// The runtime API's calls for memory.
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <cstring>
#include <vector>

#include "kernels/cuda/emulation/device_memory.hpp"
#include "kernels/cuda/emulation/reports.hpp"
#include "kernels/cuda/emulation/runtime_state.hpp"

namespace emulation = troupe::kernels::cuda::emulation;

namespace troupe::kernels::cuda::emulation {
namespace {

using lock = std::lock_guard<std::recursive_mutex>;

// Whether a copy or fill may touch these bytes: pageable memory of the host cannot be judged.
bool may_touch(const void* memory, std::size_t bytes, const char* what) {
  if (bytes == 0) return true;
  const auto address = reinterpret_cast<std::uintptr_t>(memory);
  const memory_kind kind = kind_of(memory);
  if (kind == memory_kind::other || (kind == memory_kind::device && is_allocated(address, bytes)) ||
      (kind == memory_kind::pinned && is_pinned(address, bytes))) {
    return true;
  }
  report(fmt::format("out of bounds: {} of {} bytes beside the allocations of {} memory", what, bytes,
                     kind == memory_kind::device ? "device" : "pinned"));
  return false;
}

cudaError_t copy_now(void* target, const void* source, std::size_t bytes) {
  if (!may_touch(target, bytes, "copy to") || !may_touch(source, bytes, "copy from"))
    return cudaErrorIllegalAddress;
  std::memmove(target, source, bytes);
  return cudaSuccess;
}

bool fits(cudaMemcpyKind kind, const void* target, const void* source) {
  const bool to_device = kind_of(target) == memory_kind::device;
  const bool from_device = kind_of(source) == memory_kind::device;
  switch (kind) {
    case cudaMemcpyHostToHost:
      return !to_device && !from_device;
    case cudaMemcpyHostToDevice:
      return to_device && !from_device;
    case cudaMemcpyDeviceToHost:
      return !to_device && from_device;
    case cudaMemcpyDeviceToDevice:
      return to_device && from_device;
    case cudaMemcpyDefault:
      return true;
  }
  return false;
}

// An asynchronous copy. Pageable memory of the host is read before the call returns, and written before it
// returns.
cudaError_t copy_on(cudaStream_t handle, void* target, const void* source, std::size_t bytes) {
  CUstream_st* const stream = find_stream(handle);
  if (stream == nullptr) return fail(cudaErrorInvalidResourceHandle);
  const bool pageable_source = kind_of(source) == memory_kind::other;
  const bool pageable_target = kind_of(target) == memory_kind::other;
  if (stream->capture && (pageable_source || pageable_target)) return refuse_while_capturing();
  if (pageable_source) {
    const auto* first = static_cast<const std::byte*>(source);
    auto copy = std::make_shared<std::vector<std::byte>>(first, first + bytes);
    return record(handle, [=] { return copy_now(target, copy->data(), bytes); });
  }
  const cudaError_t error = record(handle, [=] { return copy_now(target, source, bytes); });
  return pageable_target && error == cudaSuccess ? run_stream(*stream) : error;
}

cudaError_t fill_now(void* memory, int value, std::size_t bytes) {
  if (kind_of(memory) == memory_kind::other || !may_touch(memory, bytes, "fill"))
    return cudaErrorIllegalAddress;
  std::memset(memory, value, bytes);
  return cudaSuccess;
}

cudaError_t allocate(void** memory, std::size_t bytes, void* (*take)(std::size_t)) {
  const lock hold(state().mutex);
  if (const cudaError_t error = begin_call(); error != cudaSuccess) return error;
  if (capturing_anywhere()) return refuse_while_capturing();
  if (memory == nullptr) return fail(cudaErrorInvalidValue);
  *memory = nullptr;
  if (bytes == 0) return cudaSuccess;
  *memory = take(bytes);
  return *memory == nullptr ? fail(cudaErrorMemoryAllocation) : cudaSuccess;
}

// Freeing waits for all work.
cudaError_t give_back(void* memory, bool (*free)(void*)) {
  const lock hold(state().mutex);
  if (memory == nullptr) return cudaSuccess;
  if (const cudaError_t error = begin_call(); error != cudaSuccess) return error;
  if (capturing_anywhere()) return refuse_while_capturing();
  const cudaError_t error = run_all();
  return free(memory) ? error : fail(cudaErrorInvalidValue);
}

}  // namespace
}  // namespace troupe::kernels::cuda::emulation

extern "C" {

cudaError_t cudaMalloc(void** memory, size_t bytes) {
  return emulation::allocate(memory, bytes, emulation::allocate_device_memory);
}

cudaError_t cudaFree(void* memory) { return emulation::give_back(memory, emulation::free_device_memory); }

cudaError_t cudaMallocHost(void** memory, size_t bytes) {
  return emulation::allocate(memory, bytes, emulation::allocate_pinned_memory);
}

cudaError_t cudaHostAlloc(void** memory, size_t bytes, unsigned) { return cudaMallocHost(memory, bytes); }

cudaError_t cudaFreeHost(void* memory) { return emulation::give_back(memory, emulation::free_pinned_memory); }

cudaError_t cudaMemGetInfo(size_t* free, size_t* total) {
  const emulation::lock hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  *free = emulation::free_device_bytes();
  *total = emulation::total_device_bytes();
  return cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* target, const void* source, size_t bytes, cudaMemcpyKind kind,
                            cudaStream_t stream) {
  const emulation::lock hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  if (bytes > 0 && !emulation::fits(kind, target, source)) return emulation::fail(cudaErrorInvalidValue);
  return emulation::copy_on(stream, target, source, bytes);
}

cudaError_t cudaMemcpy(void* target, const void* source, size_t bytes, cudaMemcpyKind kind) {
  const emulation::lock hold(emulation::state().mutex);
  if (emulation::capturing_anywhere()) return emulation::refuse_while_capturing();
  const cudaError_t error = cudaMemcpyAsync(target, source, bytes, kind, nullptr);
  return error != cudaSuccess ? error : emulation::run_stream(emulation::state().default_stream);
}

cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream) {
  const emulation::lock hold(emulation::state().mutex);
  if (const cudaError_t error = emulation::begin_call(); error != cudaSuccess) return error;
  return emulation::record(stream, [=] { return emulation::fill_now(memory, value, bytes); });
}

cudaError_t cudaMemset(void* memory, int value, size_t bytes) {
  const emulation::lock hold(emulation::state().mutex);
  if (emulation::capturing_anywhere()) return emulation::refuse_while_capturing();
  const cudaError_t error = cudaMemsetAsync(memory, value, bytes, nullptr);
  return error != cudaSuccess ? error : emulation::run_stream(emulation::state().default_stream);
}

}  // extern "C"
