#include "runtime/executor_cuda/cuda_error.hpp"

#include <fmt/format.h>

#include <stdexcept>
#include <string>

namespace troupe {
namespace {

// CUDA tells a fault of one call from a context that is gone by what it answers afterwards: the first is
// forgotten once it has been read, the second comes back from every call. (While a stream is captured nobody
// may ask; no work runs then that could have ended the context.)
bool is_device_lost() {
  cudaGetLastError();
  const cudaError_t now = cudaDeviceSynchronize();
  cudaGetLastError();
  return now != cudaSuccess && now != cudaErrorStreamCaptureUnsupported;
}

}  // namespace

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
