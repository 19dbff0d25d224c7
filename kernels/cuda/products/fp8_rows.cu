#include "kernels/cuda/elements.cuh"
#include "kernels/cuda/products/fp8_rows.hpp"

namespace troupe::kernels::cuda {
namespace {

constexpr int fp8_threads = 256;
constexpr int fp8_run = 8;  // elements of a load

// 448 is 1.75 times two to the eighth: behind a mantissa above that the scale is twice as large.
__device__ __forceinline__ int fp8_exponent(float greatest) {
  const unsigned bits = __float_as_uint(greatest);
  const int exponent = static_cast<int>(bits >> 23) - 127 - 8 + ((bits & 0x7fffffU) > 0x600000U ? 1 : 0);
  return min(max(exponent, -100), 100);
}

__device__ __forceinline__ float scale_of(int exponent) {
  return __uint_as_float(static_cast<unsigned>(exponent + 127) << 23);
}

template <class T>
__global__ void __launch_bounds__(fp8_threads) quantize_to_fp8_kernel(fp8_rows_arguments a) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  TROUPE_SHARED(float, partial, [fp8_threads / 32]);
  const std::size_t row = static_cast<std::size_t>(blockIdx.x) * a.width;
  const T* const input = static_cast<const T*>(a.input) + row;
  float greatest = 0;
  for (int first = static_cast<int>(threadIdx.x) * fp8_run; first < a.width; first += fp8_threads * fp8_run) {
    float values[fp8_run];
    load_floats<fp8_run>(input + first, values);
#pragma unroll
    for (int i = 0; i < fp8_run; i++) greatest = fmaxf(greatest, fabsf(values[i]));
  }
  const int exponent = fp8_exponent(block_maximum(greatest, partial));
  if (threadIdx.x == 0) a.scales[blockIdx.x] = scale_of(exponent);
  const float inverse = scale_of(-exponent);
  for (int first = static_cast<int>(threadIdx.x) * fp8_run; first < a.width; first += fp8_threads * fp8_run) {
    float values[fp8_run];
    load_floats<fp8_run>(input + first, values);
    packed_elements<__nv_fp8_storage_t, fp8_run> codes;
#pragma unroll
    for (int i = 0; i < fp8_run; i++)
      codes.values[i] = __nv_cvt_float_to_fp8(values[i] * inverse, __NV_SATFINITE, __NV_E4M3);
    *reinterpret_cast<packed_elements<__nv_fp8_storage_t, fp8_run>*>(
        static_cast<__nv_fp8_storage_t*>(a.output) + row + first) = codes;
  }
}

template <class T, bool adds>
__global__ void __launch_bounds__(fp8_threads) scale_fp8_sums_kernel(fp8_scale_arguments a) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  const int column = static_cast<int>(blockIdx.x * fp8_threads + threadIdx.x) * fp8_run;
  if (column >= a.width) return;
  float scales[fp8_run];
  load_floats<fp8_run>(a.output_scales + column, scales);
  for (int row = static_cast<int>(blockIdx.y); row < a.rows; row += static_cast<int>(gridDim.y)) {
    const std::size_t at = static_cast<std::size_t>(row) * a.width + column;
    const float row_scale = a.row_scales[row];
    float values[fp8_run];
    load_floats<fp8_run>(static_cast<const T*>(a.sums) + at, values);
#pragma unroll
    for (int i = 0; i < fp8_run; i++) values[i] *= row_scale * scales[i];
    if constexpr (adds) {
      float there[fp8_run];
      load_floats<fp8_run>(a.output + at, there);
#pragma unroll
      for (int i = 0; i < fp8_run; i++) there[i] += values[i];
      store_floats<fp8_run>(a.output + at, there);
    } else {
      store_floats<fp8_run>(static_cast<T*>(a.sums) + at, values);
    }
  }
}

}  // namespace

void quantize_to_fp8(const fp8_rows_arguments& arguments, cudaStream_t stream) {
  if (arguments.rows == 0) return;
  with_element_type(arguments.type, [&](auto element) {
    using type = decltype(element);
    const dim3 grid(static_cast<unsigned>(arguments.rows));
    TROUPE_LAUNCH_EARLY((quantize_to_fp8_kernel<type>), grid, fp8_threads, 0, stream, arguments);
  });
}

void scale_fp8_sums(const fp8_scale_arguments& arguments, cudaStream_t stream) {
  if (arguments.rows == 0) return;
  constexpr int columns = fp8_threads * fp8_run;
  const dim3 grid(static_cast<unsigned>((arguments.width + columns - 1) / columns),
                  static_cast<unsigned>(min(arguments.rows, 65535)));
  switch (arguments.kind) {
    case fp8_sums::bf16:
      TROUPE_LAUNCH_EARLY((scale_fp8_sums_kernel<__nv_bfloat16, false>), grid, fp8_threads, 0, stream,
                          arguments);
      break;
    case fp8_sums::f32:
      TROUPE_LAUNCH_EARLY((scale_fp8_sums_kernel<float, false>), grid, fp8_threads, 0, stream, arguments);
      break;
    case fp8_sums::add_to_f32:
      TROUPE_LAUNCH_EARLY((scale_fp8_sums_kernel<float, true>), grid, fp8_threads, 0, stream, arguments);
      break;
  }
}

}  // namespace troupe::kernels::cuda
