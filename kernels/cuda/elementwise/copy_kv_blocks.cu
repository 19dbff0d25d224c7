#include "kernels/cuda/elementwise/copy_kv_blocks.hpp"

#include "kernels/cuda/elements.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int copy_threads = 128;

// `pieces` of 16 bytes are a block's in one layer; memory is [layer][block][pieces].
__global__ void __launch_bounds__(copy_threads)
    copy_kv_blocks_kernel(uint4* memory, std::int64_t pieces, std::int32_t blocks, const std::int32_t* copies,
                          std::int32_t count) {
  const auto piece = static_cast<std::int64_t>(blockIdx.x) * copy_threads + threadIdx.x;
  if (piece >= pieces) return;
  uint4* const layer = memory + static_cast<std::int64_t>(blockIdx.y) * blocks * pieces + piece;
  for (int i = 0; i < count; i++) {
    layer[copies[2 * i + 1] * pieces] = layer[copies[2 * i] * pieces];
  }
}

void launch_copy(void* memory, std::size_t bytes, const copy_kv_blocks_arguments& a, cudaStream_t stream) {
  const auto layers = static_cast<std::size_t>(a.kv.num_layers);
  const std::size_t pieces = bytes / layers / static_cast<std::size_t>(a.kv.num_blocks) / sizeof(uint4);
  const dim3 grid(static_cast<unsigned>((pieces + copy_threads - 1) / copy_threads),
                  static_cast<unsigned>(layers));
  TROUPE_LAUNCH(copy_kv_blocks_kernel, grid, copy_threads, 0, stream, static_cast<uint4*>(memory),
                static_cast<std::int64_t>(pieces), a.kv.num_blocks, a.copies, a.count);
}

}  // namespace

void copy_kv_blocks(const copy_kv_blocks_arguments& arguments, cudaStream_t stream) {
  if (arguments.count == 0) return;
  launch_copy(arguments.kv.data, arguments.kv.data_bytes(), arguments, stream);
  if (arguments.kv.element == kv_element::int8) {
    // A block and KV head has 8 scales or more: whole pieces.
    launch_copy(arguments.kv.scales, arguments.kv.scale_bytes(), arguments, stream);
  }
}

}  // namespace troupe::kernels::cuda
