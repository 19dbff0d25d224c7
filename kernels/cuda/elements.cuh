// Loads and stores of several elements at once, and sums over the threads of a block.
#pragma once
#include <type_traits>

#include "kernels/cuda/device.cuh"
#include "kernels/cuda/element_type.hpp"

namespace troupe::kernels::cuda {

__device__ __forceinline__ float to_float(float value) { return value; }
__device__ __forceinline__ float to_float(__nv_bfloat16 value) { return __bfloat162float(value); }
__device__ __forceinline__ float to_float(__half value) { return __half2float(value); }

template <class T>
__device__ __forceinline__ T from_float(float value);
template <>
__device__ __forceinline__ float from_float<float>(float value) {
  return value;
}
template <>
__device__ __forceinline__ __nv_bfloat16 from_float<__nv_bfloat16>(float value) {
  return __float2bfloat16_rn(value);
}
template <>
__device__ __forceinline__ __half from_float<__half>(float value) {
  return __float2half_rn(value);
}

// What a KV memory of such elements is given of a value. One beyond fp16 becomes its greatest number, as on
// the CPU: rows that must not see it multiply it by 0, and of an infinity that would be no number.
template <class T>
__device__ __forceinline__ float kv_value(float value) {
  if constexpr (std::is_same_v<T, __half>) {
    constexpr float greatest = 65504.0F;
    return fminf(fmaxf(value, -greatest), greatest);
  } else {
    return value;
  }
}

// `count` elements that one thread loads or stores together: 16 bytes an instruction where they are as many.
template <class T, int count>
struct alignas(sizeof(T) * count < 16 ? sizeof(T) * count : 16) packed_elements {
  T values[count];
};

template <int count, class T>
__device__ __forceinline__ void load_floats(const T* memory, float (&values)[count]) {
  const auto loaded = *reinterpret_cast<const packed_elements<T, count>*>(memory);
#pragma unroll
  for (int i = 0; i < count; i++) values[i] = to_float(loaded.values[i]);
}

template <int count, class T>
__device__ __forceinline__ void store_floats(T* memory, const float (&values)[count]) {
  packed_elements<T, count> stored;
#pragma unroll
  for (int i = 0; i < count; i++) stored.values[i] = from_float<T>(values[i]);
  *reinterpret_cast<packed_elements<T, count>*>(memory) = stored;
}

// silu(gate) * up.
__device__ __forceinline__ float gated(float gate, float up) { return gate / (1.0F + __expf(-gate)) * up; }

// Two elements as one complex number, turned by an angle.
__device__ __forceinline__ void rotate_pair(float& x, float& y, float cosine, float sine) {
  const float turned = fmaf(-y, sine, x * cosine);
  y = fmaf(x, sine, y * cosine);
  x = turned;
}

// Calls `function` with a value of the type, for its sake alone.
template <class Function>
void with_element_type(element_type type, Function&& function) {
  if (type == element_type::bf16) {
    function(__nv_bfloat16{});
  } else {
    function(__half{});
  }
}

// The sum and the greatest over each run of so many lanes, the same in all of these.
template <int lanes = 32>
__device__ __forceinline__ float warp_sum(float value) {
#pragma unroll
  for (int distance = lanes / 2; distance > 0; distance /= 2) value += __shfl_xor_sync(~0U, value, distance);
  return value;
}
template <int lanes = 32>
__device__ __forceinline__ float warp_maximum(float value) {
#pragma unroll
  for (int distance = lanes / 2; distance > 0; distance /= 2)
    value = fmaxf(value, __shfl_xor_sync(~0U, value, distance));
  return value;
}

// The sum over all threads of a block, the same in each. Whole warps; `partial` holds a float for each warp
// and may be used again after a barrier. The order of the additions depends on the number of threads alone.
__device__ __forceinline__ float block_sum(float value, float* partial) {
  value = warp_sum(value);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float sum = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; warp++) sum += partial[warp];
  return sum;
}
// The same of the greatest, of values that are not negative.
__device__ __forceinline__ float block_maximum(float value, float* partial) {
  value = warp_maximum(value);
  if (threadIdx.x % 32 == 0) partial[threadIdx.x / 32] = value;
  __syncthreads();
  float greatest = 0;
  for (unsigned warp = 0; warp < blockDim.x / 32; warp++) greatest = fmaxf(greatest, partial[warp]);
  return greatest;
}

}  // namespace troupe::kernels::cuda
