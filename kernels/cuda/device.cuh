// What every kernel includes: CUDA's headers under nvcc, the emulation (docs/gpu.md) under g++, and macros
// for what the two spell differently.
#pragma once

#ifdef TROUPE_CUDA_EMULATION

#include "kernels/cuda/emulation/device_model.hpp"

#define TROUPE_LAUNCH_NOW(kernel, grid, block, shared_bytes, stream, ...)                \
  ::troupe::kernels::cuda::emulation::launch(#kernel, kernel, grid, block, shared_bytes, \
                                             stream __VA_OPT__(, ) __VA_ARGS__)

#define TROUPE_LAUNCH_EARLY_NOW(kernel, grid, block, shared_bytes, stream, ...)                \
  ::troupe::kernels::cuda::emulation::launch_early(#kernel, kernel, grid, block, shared_bytes, \
                                                   stream __VA_OPT__(, ) __VA_ARGS__)

// The block's dynamic shared memory as a pointer to `type`, aligned to 16 bytes. Once in a kernel.
#define TROUPE_DYNAMIC_SHARED(type, name) \
  type* const name = static_cast<type*>(::troupe::kernels::cuda::emulation::dynamic_shared_memory())

// TROUPE_SHARED(float, tile, [32][33]): a static array, or without sizes a single value, shared by the
// block's threads and aligned to 16 bytes.
#define TROUPE_SHARED(type, name, ...)                          \
  typedef type name##_shared_type __VA_ARGS__;                  \
  static const char name##_shared_key = 0;                      \
  name##_shared_type& name = *static_cast<name##_shared_type*>( \
      ::troupe::kernels::cuda::emulation::shared_memory(&name##_shared_key, sizeof(name##_shared_type)))

#else

#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

#include <cstddef>
#include <cstdint>

#include "kernels/cuda/early_launch.cuh"

#define TROUPE_LAUNCH_NOW(kernel, grid, block, shared_bytes, stream, ...) \
  kernel<<<grid, block, shared_bytes, stream>>>(__VA_ARGS__)
#define TROUPE_LAUNCH_EARLY_NOW(kernel, grid, block, shared_bytes, stream, ...) \
  ::troupe::kernels::cuda::launch_early(kernel, grid, block, shared_bytes, stream __VA_OPT__(, ) __VA_ARGS__)
#define TROUPE_DYNAMIC_SHARED(type, name)                       \
  extern __shared__ __align__(16) unsigned char name##_bytes[]; \
  type* const name = reinterpret_cast<type*>(name##_bytes)
#define TROUPE_SHARED(type, name, ...) __shared__ __align__(16) type name __VA_ARGS__

#endif

// TROUPE_LAUNCH(kernel, grid, block, shared_bytes, stream, arguments...). A kernel's name with commas in it
// stands in parentheses: TROUPE_LAUNCH((norm<float, 4>), ...). Errors are found by cudaGetLastError. Until
// somebody has asked for one nothing more is launched: a kernel would read what those before it have not
// written, and where the device merely had no memory that would be the end of it.
#define TROUPE_LAUNCH(...)                                                    \
  do {                                                                        \
    if (cudaPeekAtLastError() == cudaSuccess) TROUPE_LAUNCH_NOW(__VA_ARGS__); \
  } while (false)

// The same of a kernel that may begin before the one ahead of it has ended: early_launch.cuh says what it
// must keep to, and the emulation reports what does not.
#define TROUPE_LAUNCH_EARLY(...)                                                    \
  do {                                                                              \
    if (cudaPeekAtLastError() == cudaSuccess) TROUPE_LAUNCH_EARLY_NOW(__VA_ARGS__); \
  } while (false)
