// What mma.sync.m16n8k16 does (kernels/cuda/mma.cuh), for the warp of the running thread.
#pragma once
#include <cstdint>

namespace troupe::kernels::cuda::emulation {

// sums[tiles][4] += a[steps][4] * b[steps][tiles][2] in that instruction's fragments; fp16 or bf16. All lanes
// of the warp call it together, with at most 16 steps and 16 products. Products are added one after another
// in fp32: a device adds several at a time and rounds less, so its last bits differ.
void multiply_tiles(bool fp16, int steps, int tiles, float* sums, const std::uint32_t* a,
                    const std::uint32_t* b);

}  // namespace troupe::kernels::cuda::emulation
