#pragma once
#include <cuda_runtime_api.h>

#include <cstddef>

namespace troupe::kernels::cuda {

// Copies from one place of the device's memory to another, 64 bytes a thread. `bytes` is a multiple of 16,
// both places are aligned to as many. What a device moves at best, for others to be measured against.
void stream_copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream);

}  // namespace troupe::kernels::cuda
