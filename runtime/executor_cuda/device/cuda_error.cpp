#include "runtime/executor_cuda/device/cuda_error.hpp"

#include <fmt/format.h>

#include <cstddef>
#include <stdexcept>
#include <string>

namespace troupe {
namespace {

// That a stream is captured, or that a capture is invalid.
bool is_about_capture(cudaError_t status) {
  return status >= cudaErrorStreamCaptureUnsupported && status <= cudaErrorStreamCaptureWrongThread;
}

}  // namespace

// CUDA tells a fault of one call from a context that is gone by what it answers afterwards: the first is
// forgotten once it has been read, the second comes back from every call. Nothing is waited for while a
// stream is captured: that is refused, which says that the context is there.
bool is_device_lost() {
  cudaGetLastError();
  const cudaError_t now = cudaDeviceSynchronize();
  cudaGetLastError();
  return now != cudaSuccess && !is_about_capture(now);
}

bool lacks_device_memory() {
  constexpr std::size_t probe = std::size_t{32} << 20U;  // bytes: as kernels of several products may take
  void* taken = nullptr;
  const cudaError_t status = cudaMalloc(&taken, probe);
  if (status == cudaSuccess) cudaFree(taken);
  cudaGetLastError();
  return status == cudaErrorMemoryAllocation;
}

void check_cuda(cudaError_t status, const char* call) {
  if (status == cudaSuccess) return;
  const std::string what =
      fmt::format("{}: {} ({})", call, cudaGetErrorString(status), cudaGetErrorName(status));
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw out_of_device_memory(what);
  }
  if (is_device_lost()) throw device_lost(what);
  throw std::runtime_error(what);
}

void check_launches(const char* what) { check_cuda(cudaGetLastError(), what); }

}  // namespace troupe
