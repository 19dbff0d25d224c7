#include "runtime/executor_cuda/device/device_memory.hpp"

#include "runtime/executor_cuda/device/cuda_error.hpp"

namespace troupe {

device_memory::device_memory(std::size_t bytes) : bytes_(bytes) {
  if (bytes == 0) return;
  void* data = nullptr;
  check_cuda(cudaMalloc(&data, bytes), "cudaMalloc");
  data_ = static_cast<std::byte*>(data);
}

// A device that is lost keeps nothing, so that what this answers does not matter.
device_memory::~device_memory() {
  if (data_ != nullptr) cudaFree(data_);
}

device_memory_state ask_device_memory() {
  device_memory_state out;
  check_cuda(cudaMemGetInfo(&out.free, &out.total), "cudaMemGetInfo");
  return out;
}

}  // namespace troupe
