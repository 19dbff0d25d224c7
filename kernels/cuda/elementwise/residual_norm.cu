#include "kernels/cuda/elementwise/residual_norm.hpp"

#include "kernels/cuda/elements.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int max_norm_threads = 512;

// Every thread owns `strides` runs of `count` neighbouring elements, blockDim.x * count apart.
template <class T, int count, int strides>
__global__ void __launch_bounds__(max_norm_threads) residual_norm_kernel(residual_norm_arguments a) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  TROUPE_SHARED(float, partial, [max_norm_threads / 32]);
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * a.width;
  float* const residual = a.residual + row;
  const T* const addition = static_cast<const T*>(a.addition);
  float kept[strides][count];
  float squares = 0;
#pragma unroll
  for (int s = 0; s < strides; s++) {
    const int first = static_cast<int>(s * blockDim.x + threadIdx.x) * count;
    if (first >= a.width) break;
    load_floats<count>(residual + first, kept[s]);
    if (addition != nullptr) {
      float added[count];
      load_floats<count>(addition + row + first, added);
#pragma unroll
      for (int i = 0; i < count; i++) kept[s][i] += added[i];
      store_floats<count>(residual + first, kept[s]);
    }
#pragma unroll
    for (int i = 0; i < count; i++) squares += kept[s][i] * kept[s][i];
  }
  const float scale = rsqrtf(block_sum(squares, partial) / static_cast<float>(a.width) + a.epsilon);
#pragma unroll
  for (int s = 0; s < strides; s++) {
    const int first = static_cast<int>(s * blockDim.x + threadIdx.x) * count;
    if (first >= a.width) break;
    float weight[count];
    load_floats<count>(a.weight + first, weight);
#pragma unroll
    for (int i = 0; i < count; i++) kept[s][i] *= scale * weight[i];
    store_floats<count>(static_cast<T*>(a.output) + row + first, kept[s]);
  }
}

template <class T, int count>
void launch_norm(const residual_norm_arguments& a, cudaStream_t stream) {
  constexpr int most_strides = 8;
  static_assert(max_norm_width == 8 * most_strides * max_norm_threads);
  const int runs = (a.width + count - 1) / count;
  const dim3 grid(static_cast<unsigned>(a.rows));
  const auto threads = [runs](int strides) {
    return dim3(static_cast<unsigned>(((runs + strides - 1) / strides + 31) / 32 * 32));
  };
  if (runs <= max_norm_threads) {
    TROUPE_LAUNCH_EARLY((residual_norm_kernel<T, count, 1>), grid, threads(1), 0, stream, a);
  } else if (runs <= 2 * max_norm_threads) {
    TROUPE_LAUNCH_EARLY((residual_norm_kernel<T, count, 2>), grid, threads(2), 0, stream, a);
  } else {
    TROUPE_LAUNCH_EARLY((residual_norm_kernel<T, count, most_strides>), grid, threads(most_strides), 0,
                        stream, a);
  }
}

}  // namespace

void residual_rms_norm(const residual_norm_arguments& arguments, cudaStream_t stream) {
  if (arguments.rows == 0) return;
  with_element_type(arguments.type, [&](auto element) {
    using type = decltype(element);
    if (arguments.width % 8 == 0) {
      launch_norm<type, 8>(arguments, stream);
    } else {
      launch_norm<type, 1>(arguments, stream);
    }
  });
}

}  // namespace troupe::kernels::cuda
