#include "kernels/cuda/elementwise/silu_multiply.hpp"

#include "kernels/cuda/elements.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int silu_threads = 128;

template <class T, int count>
__global__ void __launch_bounds__(silu_threads) silu_multiply_kernel(silu_multiply_arguments a) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  const int column = static_cast<int>(blockIdx.x * silu_threads + threadIdx.x) * count;
  if (column >= a.width) return;
  for (int row = static_cast<int>(blockIdx.y); row < a.rows; row += static_cast<int>(gridDim.y)) {
    const T* const gates =
        static_cast<const T*>(a.gate_up) + static_cast<std::int64_t>(row) * 2 * a.width + column;
    float gate[count];
    float up[count];
    load_floats<count>(gates, gate);
    load_floats<count>(gates + a.width, up);
#pragma unroll
    for (int i = 0; i < count; i++) gate[i] = gated(gate[i], up[i]);
    store_floats<count>(static_cast<T*>(a.output) + static_cast<std::int64_t>(row) * a.width + column, gate);
  }
}

template <class T, int count>
void launch_silu(const silu_multiply_arguments& a, cudaStream_t stream) {
  constexpr int columns = silu_threads * count;
  const dim3 grid(static_cast<unsigned>((a.width + columns - 1) / columns),
                  static_cast<unsigned>(min(a.rows, 65535)));
  TROUPE_LAUNCH_EARLY((silu_multiply_kernel<T, count>), grid, silu_threads, 0, stream, a);
}

}  // namespace

void silu_multiply(const silu_multiply_arguments& arguments, cudaStream_t stream) {
  if (arguments.rows == 0) return;
  with_element_type(arguments.type, [&](auto element) {
    using type = decltype(element);
    if (arguments.width % 8 == 0) {
      launch_silu<type, 8>(arguments, stream);
    } else {
      launch_silu<type, 1>(arguments, stream);
    }
  });
}

}  // namespace troupe::kernels::cuda
