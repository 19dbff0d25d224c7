// What tests make the emulated device lack or suffer, and see it do.
#pragma once
#include <driver_types.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string_view>

#include "kernels/cuda/emulation/shared_memory.hpp"

namespace troupe::kernels::cuda::emulation {

struct fault_plan {
  std::size_t device_bytes = std::size_t{2} << 30;  // of the whole device; cudaMalloc beyond is out of memory
  int compute_capability = 90;
  std::size_t shared_bytes = shared_memory_bytes;  // of a block that asks for it; no more than these
  // Counts down calls of the runtime API that can fail; the call that finds 1 returns `error` (0: none does).
  // Errors that CUDA calls sticky stay until cudaDeviceReset.
  std::uint64_t failing_call = 0;
  cudaError_t error = cudaErrorIllegalAddress;
  std::function<void(std::string_view kernel)> on_launch = {};  // hears of each that is asked for
};

fault_plan& faults();

}  // namespace troupe::kernels::cuda::emulation
