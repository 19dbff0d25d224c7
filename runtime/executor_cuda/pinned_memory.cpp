#include "runtime/executor_cuda/pinned_memory.hpp"

#include <fmt/format.h>

#include "runtime/executor_cuda/cuda_error.hpp"

namespace troupe {

pinned_memory::pinned_memory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* data = nullptr;
  const cudaError_t status = cudaMallocHost(&data, bytes);
  if (status == cudaErrorMemoryAllocation) {
    cudaGetLastError();
    throw out_of_device_memory(
        fmt::format("{} KiB of the host's memory cannot be pinned", (bytes >> 10U) + 1));
  }
  check_cuda(status, "cudaMallocHost");
  data_ = static_cast<std::byte*>(data);
}

pinned_memory::~pinned_memory() {
  if (data_ != nullptr) cudaFreeHost(data_);
}

}  // namespace troupe
