// Stores that several threads may do at once to one place (PTX ISA, st.relaxed): what is there is then of one
// of them. Plain stores of two threads race even where both write the same.
#pragma once
#include <cstdint>

#include "kernels/cuda/device.cuh"

namespace troupe::kernels::cuda {

__device__ __forceinline__ void store_relaxed(std::uint32_t* place, std::uint32_t value) {
#ifdef TROUPE_CUDA_EMULATION
  emulation::store_relaxed(place, value);
#else
  asm volatile("st.relaxed.gpu.global.u32 [%0], %1;" ::"l"(place), "r"(value) : "memory");
#endif
}

__device__ __forceinline__ void store_relaxed(float* place, float value) {
#ifdef TROUPE_CUDA_EMULATION
  emulation::store_relaxed(place, value);
#else
  asm volatile("st.relaxed.gpu.global.f32 [%0], %1;" ::"l"(place), "f"(value) : "memory");
#endif
}

}  // namespace troupe::kernels::cuda
