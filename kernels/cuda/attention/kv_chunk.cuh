// Eight neighbouring elements of a stored key or value: as they are loaded, and as the tensor cores read
// them.
#pragma once
#include "kernels/cuda/device.cuh"

namespace troupe::kernels::cuda {

inline constexpr int chunk_elements = 8;

// The registers that eight stored elements fill: 16 bytes of a 16-bit type, 8 of an 8-bit one.
template <class Stored>
struct raw_chunk {
  using type = uint4;
  static __device__ __forceinline__ type zero() { return make_uint4(0, 0, 0, 0); }
};
template <>
struct raw_chunk<__nv_fp8_e4m3> {
  using type = uint2;
  static __device__ __forceinline__ type zero() { return make_uint2(0, 0); }
};
template <>
struct raw_chunk<std::int8_t> : raw_chunk<__nv_fp8_e4m3> {};

template <class To, class From>
__device__ __forceinline__ To bits_as(const From& value) {
  static_assert(sizeof(To) == sizeof(From));
  To to;
  memcpy(static_cast<void*>(&to), &value, sizeof to);
  return to;
}

// Two neighbours of k side by side, as multiply_tiles reads them.
template <class Element>
__device__ __forceinline__ std::uint32_t pack_pair(float low, float high);
template <>
__device__ __forceinline__ std::uint32_t pack_pair<__nv_bfloat16>(float low, float high) {
  return bits_as<std::uint32_t>(__floats2bfloat162_rn(low, high));
}
template <>
__device__ __forceinline__ std::uint32_t pack_pair<__half>(float low, float high) {
  return bits_as<std::uint32_t>(__floats2half2_rn(low, high));
}

// Two elements of fp8 (e4m3), each in the upper half of its 16 bits, become two 16-bit floats. Sign, exponent
// and mantissa are moved to where the wider type has them; the product with a power of two makes up for its
// larger bias, for subnormal elements as well. Exact. The one NaN of e4m3 becomes 480: what is stored is
// never NaN.
template <class Element>
__device__ __forceinline__ std::uint32_t widen_fp8(std::uint32_t pair);
template <>
__device__ __forceinline__ std::uint32_t widen_fp8<__nv_bfloat16>(std::uint32_t pair) {
  const std::uint32_t moved = (pair & 0x80008000U) | ((pair & 0x7F007F00U) >> 4);
  return bits_as<std::uint32_t>(
      __hmul2(bits_as<__nv_bfloat162>(moved), bits_as<__nv_bfloat162>(0x7B807B80U)));  // 2^120
}
template <>
__device__ __forceinline__ std::uint32_t widen_fp8<__half>(std::uint32_t pair) {
  const std::uint32_t moved = (pair & 0x80008000U) | ((pair & 0x7F007F00U) >> 1);
  return bits_as<std::uint32_t>(__hmul2(bits_as<__half2>(moved), bits_as<__half2>(0x5C005C00U)));  // 2^8
}

// Two int8 codes, each in the lower half of its 16 bits with zeros above, become two 16-bit floats, exactly:
// the code's bits become the mantissa of a float whose last place is worth 1, and what that float was before
// is taken away.
template <class Element>
__device__ __forceinline__ std::uint32_t widen_int8(std::uint32_t pair);
template <>
__device__ __forceinline__ std::uint32_t widen_int8<__nv_bfloat16>(std::uint32_t pair) {
  // 128 + the seven lower bits, less 128 or, where the sign is set, 256.
  const std::uint32_t low = (pair & 0x007F007FU) | 0x43004300U;
  const std::uint32_t sign = (pair & 0x00800080U) | 0x43004300U;
  return bits_as<std::uint32_t>(__hsub2(bits_as<__nv_bfloat162>(low), bits_as<__nv_bfloat162>(sign)));
}
template <>
__device__ __forceinline__ std::uint32_t widen_int8<__half>(std::uint32_t pair) {
  // 1024 + (code + 128), less 1152.
  const std::uint32_t shifted = (pair ^ 0x00800080U) | 0x64006400U;
  return bits_as<std::uint32_t>(__hsub2(bits_as<__half2>(shifted), bits_as<__half2>(0x64806480U)));
}

// A loaded chunk as four pairs of Element; int8 codes come without their scale.
template <class Element, class Stored>
struct chunk_reader {  // a 16-bit type is stored as it is read
  static __device__ __forceinline__ void widen(const uint4& raw, std::uint32_t (&pairs)[4]) {
    pairs[0] = raw.x;
    pairs[1] = raw.y;
    pairs[2] = raw.z;
    pairs[3] = raw.w;
  }
};
template <class Element>
struct chunk_reader<Element, __nv_fp8_e4m3> {
  static __device__ __forceinline__ void widen(const uint2& raw, std::uint32_t (&pairs)[4]) {
    pairs[0] = widen_fp8<Element>(__byte_perm(raw.x, 0, 0x1404));
    pairs[1] = widen_fp8<Element>(__byte_perm(raw.x, 0, 0x3424));
    pairs[2] = widen_fp8<Element>(__byte_perm(raw.y, 0, 0x1404));
    pairs[3] = widen_fp8<Element>(__byte_perm(raw.y, 0, 0x3424));
  }
};
template <class Element>
struct chunk_reader<Element, std::int8_t> {
  static __device__ __forceinline__ void widen(const uint2& raw, std::uint32_t (&pairs)[4]) {
    pairs[0] = widen_int8<Element>(__byte_perm(raw.x, 0, 0x4140));
    pairs[1] = widen_int8<Element>(__byte_perm(raw.x, 0, 0x4342));
    pairs[2] = widen_int8<Element>(__byte_perm(raw.y, 0, 0x4140));
    pairs[3] = widen_int8<Element>(__byte_perm(raw.y, 0, 0x4342));
  }
};

}  // namespace troupe::kernels::cuda
