// Kernel launches as recorded calls.
#pragma once
#include <cuda_runtime_api.h>

#include <memory>
#include <tuple>
#include <type_traits>
#include <utility>

#include "kernels/cuda/emulation/execution.hpp"

namespace troupe::kernels::cuda::emulation {

// Puts the call on the stream, or into the graph that is being captured there.
void record_launch(kernel_call call, cudaStream_t stream);

template <class... Parameters, class... Arguments>
kernel_call call_of(const char* name, void (*kernel)(Parameters...), dim3 grid, dim3 block,
                    std::size_t shared_bytes, Arguments&&... arguments) {
  using values = std::tuple<std::remove_cv_t<Parameters>...>;
  static_assert(sizeof(values) <= 4096, "more arguments than a kernel takes");
  return {
      .name = name,
      .function = reinterpret_cast<const void*>(kernel),
      .grid = grid,
      .block = block,
      .dynamic_bytes = shared_bytes,
      .arguments = std::make_shared<values>(static_cast<Parameters>(std::forward<Arguments>(arguments))...),
      .argument_bytes = sizeof(values),
      .invoke = [](const void* function, const void* stored) {
        std::apply(reinterpret_cast<void (*)(Parameters...)>(const_cast<void*>(function)),
                   *static_cast<const values*>(stored));
      }};
}

template <class Kernel, class... Arguments>
void launch(const char* name, Kernel kernel, dim3 grid, dim3 block, std::size_t shared_bytes,
            cudaStream_t stream, Arguments&&... arguments) {
  record_launch(call_of(name, kernel, grid, block, shared_bytes, std::forward<Arguments>(arguments)...),
                stream);
}

template <class Kernel, class... Arguments>
void launch_early(const char* name, Kernel kernel, dim3 grid, dim3 block, std::size_t shared_bytes,
                  cudaStream_t stream, Arguments&&... arguments) {
  kernel_call call = call_of(name, kernel, grid, block, shared_bytes, std::forward<Arguments>(arguments)...);
  call.early = true;
  record_launch(std::move(call), stream);
}

}  // namespace troupe::kernels::cuda::emulation
