#include "runtime/executor_cuda/device/pinned_memory.hpp"

#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe {

pinned_memory::pinned_memory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* data = nullptr;
  check_cuda(cudaMallocHost(&data, bytes), "cudaMallocHost, of the host's memory");
  data_ = static_cast<std::byte*>(data);
}

pinned_memory::~pinned_memory() {
  if (data_ != nullptr) cudaFreeHost(data_);
}

}  // namespace troupe
