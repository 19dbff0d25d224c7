// Dynamic shared memory of a launch beyond what every kernel may have.
#pragma once
#include <cstddef>

#include "kernels/cuda/device.cuh"

namespace troupe::kernels::cuda {

inline constexpr std::size_t shared_without_asking = std::size_t{48} << 10;

// Before the launch of a kernel with so many bytes: more than shared_without_asking are to be asked for.
// Errors are found by cudaGetLastError, as those of launches.
template <class Kernel>
void ask_for_shared_bytes(Kernel kernel, std::size_t bytes) {
  if (bytes <= shared_without_asking) return;
  static_cast<void>(cudaFuncSetAttribute(reinterpret_cast<const void*>(kernel),
                                         cudaFuncAttributeMaxDynamicSharedMemorySize,
                                         static_cast<int>(bytes)));
}

}  // namespace troupe::kernels::cuda
