// Copies from global to shared memory that run beside the thread that asked for them (PTX ISA, cp.async).
#pragma once
#include "kernels/cuda/device.cuh"
#ifdef TROUPE_CUDA_EMULATION
#include "kernels/cuda/emulation/async_copy.hpp"
#endif

namespace troupe::kernels::cuda {

// 16 bytes, both addresses aligned to as many; zeros instead of them where not `inside`, and then `global` is
// not read.
__device__ __forceinline__ void copy_async(void* shared, const void* global, bool inside) {
#ifdef TROUPE_CUDA_EMULATION
  emulation::copy_async(shared, global, inside);
#else
  const auto to = static_cast<unsigned>(__cvta_generic_to_shared(shared));
  const int bytes = inside ? 16 : 0;
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(global), "r"(bytes) : "memory");
#endif
}

// Waits for the copies that this thread asked for. Others see them behind a barrier.
__device__ __forceinline__ void wait_for_copies() {
#ifdef TROUPE_CUDA_EMULATION
  emulation::wait_for_copies();
#else
  asm volatile("cp.async.wait_all;" ::: "memory");
#endif
}

}  // namespace troupe::kernels::cuda
