// Kernels that begin before the one ahead of them on their stream has ended (programmatic dependent launch,
// CUDA C++ Programming Guide; compute capability 9.0, elsewhere they begin when it has): what a launch costs,
// and what can be loaded without the earlier kernel's results, is hidden behind that one.
//
// Such a kernel may read, before it waits, what no kernel has written since a kernel began that was launched
// in the ordinary way: weights, what the host has sent for the step, and keys and values of earlier steps. It
// writes nothing before, and some of its threads must wait: who waits for it then knows that what was before
// it has ended as well. Results of earlier kernels are read by ordinary loads, not by __ldg: that tells the
// compiler that the data never change, and it may load them before the wait.
#pragma once
#include <cuda_runtime.h>

#include <atomic>
#include <cstddef>
#include <utility>

namespace troupe::kernels::cuda {

// Returns when all kernels that were launched before have ended and what they wrote can be read.
__device__ __forceinline__ void wait_for_earlier_kernels() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
#endif
}

// The next kernel on the stream may begin once all blocks of this one have come here or ended.
__device__ __forceinline__ void let_later_kernels_begin() {
#if defined(__CUDA_ARCH__) && __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.launch_dependents;" ::: "memory");
#endif
}

// Asks for 128 bytes, which will be in the L2 cache when they are read.
__device__ __forceinline__ void prefetch_line(const void* memory) {
  asm volatile("prefetch.global.L2 [%0];" ::"l"(memory));
}

// Whether the device that is current can do so, and has kernels that wait; asked once for each.
inline bool can_launch_early() {
#ifndef TROUPE_KERNELS_WAIT
  return false;  // compiled for older devices alone: a newer one runs their code, in which nothing waits
#endif
  constexpr int most_devices = 64;
  static std::atomic<signed char> known[most_devices] = {};  // 0: not yet asked
  int device = 0;
  if (cudaGetDevice(&device) != cudaSuccess || device >= most_devices) return false;
  signed char answer = known[device].load(std::memory_order_relaxed);
  if (answer == 0) {
    int major = 0;
    if (cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device) != cudaSuccess)
      return false;
    answer = major >= 9 ? 1 : -1;
    known[device].store(answer, std::memory_order_relaxed);
  }
  return answer > 0;
}

template <class... Parameters, class... Arguments>
void launch_early(void (*kernel)(Parameters...), dim3 grid, dim3 block, std::size_t shared_bytes,
                  cudaStream_t stream, Arguments&&... arguments) {
  cudaLaunchAttribute early{};
  early.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  early.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared_bytes;
  config.stream = stream;
  config.attrs = &early;
  config.numAttrs = can_launch_early() ? 1 : 0;
  // Errors are found by cudaGetLastError, as those of other launches.
  static_cast<void>(
      cudaLaunchKernelEx(&config, kernel, static_cast<Parameters>(std::forward<Arguments>(arguments))...));
}

}  // namespace troupe::kernels::cuda
