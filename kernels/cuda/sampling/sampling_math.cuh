// The arithmetic of runtime/sampling on the device, to the bit: keys in the order of floats, weights in steps
// of 2^-33, Philox; and sums and scans of integers over a warp and a block.
#pragma once
#include "kernels/cuda/device.cuh"

namespace troupe::kernels::cuda {

inline constexpr unsigned all_lanes = 0xFFFFFFFFU;
inline constexpr std::uint32_t minus_infinity_key = 0x007FFFFFU;
inline constexpr float infinite = __builtin_huge_valf();

// Unsigned integers in the order of the floats; 0 for NaN, and -0 as 0.
__device__ __forceinline__ std::uint32_t ordered_key(float value) {
  const std::uint32_t bits = __float_as_uint(__fadd_rn(value, 0.0F));
  const std::uint32_t key = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  return value == value ? key : 0U;
}

__device__ __forceinline__ float value_of_key(std::uint32_t key) {
  return __uint_as_float((key & 0x80000000U) != 0 ? key & 0x7FFFFFFFU : ~key);
}

// exp(x) for x <= 0, as row_math.cpp's: every operation rounds by itself, but the first of the reduction,
// whose product is exact. Not 0 below -87, but too small to be a step.
__device__ __forceinline__ float exp_non_positive(float x) {
  constexpr float shifter = 12582912.0F;
  const float clamped = fmaxf(x, -87.0F);
  const float shifted = __fadd_rn(__fmul_rn(clamped, 1.44269504F), shifter);
  const float whole = __fsub_rn(shifted, shifter);
  const float r = __fadd_rn(__fmaf_rn(whole, -0.693359375F, clamped), __fmul_rn(whole, 2.12194440e-4F));
  float p = 1.9875691500e-4F;
  p = __fadd_rn(__fmul_rn(p, r), 1.3981999507e-3F);
  p = __fadd_rn(__fmul_rn(p, r), 8.3334519073e-3F);
  p = __fadd_rn(__fmul_rn(p, r), 4.1665795894e-2F);
  p = __fadd_rn(__fmul_rn(p, r), 1.6666665459e-1F);
  p = __fadd_rn(__fmul_rn(p, r), 5.0000001201e-1F);
  p = __fadd_rn(__fadd_rn(__fmul_rn(p, __fmul_rn(r, r)), r), 1.0F);
  const std::uint32_t scale = (__float_as_uint(shifted) - __float_as_uint(shifter) + 127U) << 23U;
  return __fmul_rn(p, __uint_as_float(scale));
}

// What is scaled to less than this has weight 0: it is less than half a step.
inline constexpr float weightless = -24.0F;

// How a row's logits become weights; NaN has none.
struct weighing {
  float max = 0.0F;
  float inverse_temperature = 1.0F;
  float min_p = 0.0F;

  __device__ float scaled(float logit) const { return __fmul_rn(__fsub_rn(logit, max), inverse_temperature); }
  // Whether all four are scaled to less than `cut`: then their exponentials need not be computed.
  __device__ bool are_below(const float4& logits, float cut) const {
    return scaled(fmaxf(fmaxf(logits.x, logits.y), fmaxf(logits.z, logits.w))) < cut;
  }
  __device__ float weight(float logit) const {
    if (max == infinite) return logit == max ? 1.0F : 0.0F;
    constexpr float turning = 0x1.0p-10F;  // below it, the spacing of turning + weight is a step
    const float exact = exp_non_positive(scaled(logit));
    const float rounded = exact < turning ? __fsub_rn(__fadd_rn(exact, turning), turning) : exact;
    return rounded < min_p ? 0.0F : rounded;
  }
};

// A weight is at most 2^33 steps.
__device__ __forceinline__ std::uint64_t weight_steps(float weight) {
  return static_cast<std::uint64_t>(static_cast<long long>(__fmul_rn(weight, 0x1.0p33F)));
}

// A weight as multiples of 2^-14 and the signed rest in steps, which is at most 2^18: what adding a constant
// leaves in a float's last bits. No conversion, no 64-bit integer.
struct split_weight {
  std::uint32_t coarse;
  std::uint32_t fine;  // of a signed number

  __device__ explicit split_weight(float weight) {
    constexpr float coarse_base = 512.0F;
    constexpr float fine_base = 0x1.8p-10F;
    const float high = __fadd_rn(weight, coarse_base);
    const float low = __fsub_rn(weight, __fsub_rn(high, coarse_base));
    coarse = __float_as_uint(high) - __float_as_uint(coarse_base);
    fine = __float_as_uint(__fadd_rn(low, fine_base)) - __float_as_uint(fine_base);
  }
};

// Steps of up to 2^12 split weights.
__device__ __forceinline__ std::int64_t steps_of_sums(std::uint32_t coarse, std::uint32_t fine) {
  return static_cast<std::int64_t>(coarse) * (std::int64_t{1} << 19) + static_cast<std::int32_t>(fine);
}

// The sum over a warp, for values below 2^54, by two sums of 27 bits each; for every lane.
__device__ __forceinline__ std::uint64_t warp_sum(std::uint64_t value) {
  constexpr std::uint32_t low = (1U << 27U) - 1;
  const std::uint32_t first = __reduce_add_sync(all_lanes, static_cast<std::uint32_t>(value) & low);
  const std::uint32_t second = __reduce_add_sync(all_lanes, static_cast<std::uint32_t>(value >> 27U));
  return first + (static_cast<std::uint64_t>(second) << 27U);
}

// The greatest over a warp; for every lane.
__device__ __forceinline__ std::uint64_t warp_max(std::uint64_t value) {
  const auto high = static_cast<std::uint32_t>(value >> 32U);
  const std::uint32_t best = __reduce_max_sync(all_lanes, high);
  const std::uint32_t low =
      __reduce_max_sync(all_lanes, high == best ? static_cast<std::uint32_t>(value) : 0U);
  return static_cast<std::uint64_t>(best) << 32U | low;
}

// The sum of the lanes before this one.
template <class Integer>
__device__ __forceinline__ Integer warp_exclusive_sum(Integer value) {
  const unsigned lane = threadIdx.x % 32;
  Integer sum = value;
#pragma unroll
  for (unsigned distance = 1; distance < 32; distance *= 2) {
    const Integer below = __shfl_up_sync(all_lanes, sum, distance);
    if (lane >= distance) sum += below;
  }
  return sum - value;
}

// Sums below 2^54 over a block of at most 1,024 threads, in whole warps. `parts` is shared, one per warp;
// every thread of the block calls.
__device__ __forceinline__ std::uint64_t block_sum(std::uint64_t value, std::uint64_t* parts) {
  const unsigned lane = threadIdx.x % 32;
  value = warp_sum(value);
  if (lane == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  const std::uint64_t total = warp_sum(lane < blockDim.x / 32 ? parts[lane] : 0);
  __syncthreads();
  return total;
}

// The sum of the threads before this one; `total` of all.
__device__ __forceinline__ std::uint64_t block_exclusive_sum(std::uint64_t value, std::uint64_t* parts,
                                                             std::uint64_t& total) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  const std::uint64_t before = warp_exclusive_sum(value);
  if (lane == 31) parts[warp] = before + value;
  __syncthreads();
  const std::uint64_t part = lane < blockDim.x / 32 ? parts[lane] : 0;
  total = warp_sum(part);
  const std::uint64_t base = warp_sum(lane < warp ? part : 0);
  __syncthreads();
  return base + before;
}

// Philox 4x32-10, as runtime/sampling/philox.hpp: 53 random bits; u = bits * 2^-53.
enum class random_stream : std::uint32_t { draw = 0, accept = 1, residual = 2 };

__device__ __forceinline__ std::uint64_t uniform_bits(std::uint64_t seed, std::uint64_t position,
                                                      random_stream stream) {
  std::uint32_t c0 = static_cast<std::uint32_t>(position);
  std::uint32_t c1 = static_cast<std::uint32_t>(position >> 32U);
  std::uint32_t c2 = static_cast<std::uint32_t>(stream);
  std::uint32_t c3 = 0;
  std::uint32_t k0 = static_cast<std::uint32_t>(seed);
  std::uint32_t k1 = static_cast<std::uint32_t>(seed >> 32U);
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t product_0 = std::uint64_t{0xD2511F53U} * c0;
    const std::uint64_t product_1 = std::uint64_t{0xCD9E8D57U} * c2;
    c0 = static_cast<std::uint32_t>(product_1 >> 32U) ^ c1 ^ k0;
    c1 = static_cast<std::uint32_t>(product_1);
    c2 = static_cast<std::uint32_t>(product_0 >> 32U) ^ c3 ^ k1;
    c3 = static_cast<std::uint32_t>(product_0);
    k0 += 0x9E3779B9U;
    k1 += 0xBB67AE85U;
  }
  return static_cast<std::uint64_t>(c0 >> 5U) << 26U | (c1 >> 6U);
}

// u * total, rounded as the CPU rounds it.
__device__ __forceinline__ double share_of(std::uint64_t bits, std::uint64_t total) {
  return __dmul_rn(static_cast<double>(bits) * 0x1.0p-53, static_cast<double>(total));
}

}  // namespace troupe::kernels::cuda
