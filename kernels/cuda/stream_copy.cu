#include "kernels/cuda/device.cuh"
#include "kernels/cuda/stream_copy.hpp"

namespace troupe::kernels::cuda {
namespace {

constexpr int stream_copy_threads = 256;
constexpr int stream_copy_loads = 4;  // of 16 bytes, all on the way at once

__global__ void __launch_bounds__(stream_copy_threads)
    stream_copy_kernel(uint4* to, const uint4* from, std::size_t pieces) {
  const std::size_t first =
      static_cast<std::size_t>(blockIdx.x) * stream_copy_threads * stream_copy_loads + threadIdx.x;
  uint4 loaded[stream_copy_loads];
#pragma unroll
  for (int i = 0; i < stream_copy_loads; ++i) {
    const std::size_t at = first + static_cast<std::size_t>(i) * stream_copy_threads;
    if (at < pieces) loaded[i] = from[at];
  }
#pragma unroll
  for (int i = 0; i < stream_copy_loads; ++i) {
    const std::size_t at = first + static_cast<std::size_t>(i) * stream_copy_threads;
    if (at < pieces) to[at] = loaded[i];
  }
}

}  // namespace

void stream_copy(void* to, const void* from, std::size_t bytes, cudaStream_t stream) {
  if (bytes == 0) return;
  constexpr std::size_t pieces_of_a_block = std::size_t{stream_copy_threads} * stream_copy_loads;
  const std::size_t pieces = bytes / sizeof(uint4);
  const dim3 grid(static_cast<unsigned>((pieces + pieces_of_a_block - 1) / pieces_of_a_block));
  TROUPE_LAUNCH(stream_copy_kernel, grid, stream_copy_threads, 0, stream, static_cast<uint4*>(to),
                static_cast<const uint4*>(from), pieces);
}

}  // namespace troupe::kernels::cuda
