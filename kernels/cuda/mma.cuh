// Products of small matrices on the tensor cores: the one function that the emulation computes by other
// means.
//
// One step is D[16][8] += A[16][16] * B[16][8] by the 32 lanes of a warp together, 16-bit elements, fp32 sums
// (PTX ISA, mma.sync.m16n8k16, row.col). With g = lane / 4 and t = lane % 4 a lane holds, two neighbours of k
// in a register:
//   A: [g][2t], [g + 8][2t], [g][2t + 8], [g + 8][2t + 8]      B: [2t][g], [2t + 8][g]
//   D: [g][2t], [g][2t + 1], [g + 8][2t], [g + 8][2t + 1]
// A row of D depends on that row of A and on B alone, so a row's bits do not depend on the rows beside it.
#pragma once
#include <type_traits>

#include "kernels/cuda/device.cuh"
#ifdef TROUPE_CUDA_EMULATION
#include "kernels/cuda/emulation/tensor_cores.hpp"
#endif

namespace troupe::kernels::cuda {

// sums[n] += sum over k of a[k] * b[k][n]: tiles side by side in n, one after another in k.
#ifdef TROUPE_CUDA_EMULATION

template <class Element, int Steps, int Tiles>
void multiply_tiles(float (&sums)[Tiles][4], const std::uint32_t (&a)[Steps][4],
                    const std::uint32_t (&b)[Steps][Tiles][2]) {
  emulation::multiply_tiles(std::is_same_v<Element, __half>, Steps, Tiles, &sums[0][0], &a[0][0],
                            &b[0][0][0]);
}

#else

template <class Element>
__device__ __forceinline__ void multiply_tile(float (&sums)[4], const std::uint32_t (&a)[4],
                                              const std::uint32_t (&b)[2]);
template <>
__device__ __forceinline__ void multiply_tile<__nv_bfloat16>(float (&sums)[4], const std::uint32_t (&a)[4],
                                                             const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}
template <>
__device__ __forceinline__ void multiply_tile<__half>(float (&sums)[4], const std::uint32_t (&a)[4],
                                                      const std::uint32_t (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, "
      "{%0, %1, %2, %3};"
      : "+f"(sums[0]), "+f"(sums[1]), "+f"(sums[2]), "+f"(sums[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

template <class Element, int Steps, int Tiles>
__device__ __forceinline__ void multiply_tiles(float (&sums)[Tiles][4], const std::uint32_t (&a)[Steps][4],
                                               const std::uint32_t (&b)[Steps][Tiles][2]) {
#pragma unroll
  for (int step = 0; step < Steps; ++step) {
#pragma unroll
    for (int tile = 0; tile < Tiles; ++tile) multiply_tile<Element>(sums[tile], a[step], b[step][tile]);
  }
}

#endif

}  // namespace troupe::kernels::cuda
