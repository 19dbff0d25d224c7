// The search for a threshold among values that a block of 1,024 threads can reach. Where they are many, the
// block finds the first bits of its key, two in a round; where few are left that have these, each is compared
// with all others: what a round takes is its barriers and sums, however few the values are.
#pragma once
#include <type_traits>

#include "kernels/cuda/sampling/sampling_math.cuh"

namespace troupe::kernels::cuda {

inline constexpr int search_threads = 1024;
inline constexpr int search_warps = search_threads / 32;
inline constexpr std::uint32_t few_values = 128;

// What a search has found out: its threshold, or so far the first bits of that.
struct reached_key {
  std::uint32_t key;     // bits that were not looked at are 0
  std::uint32_t equals;  // how many values have these bits; at first at least as many as there are
  std::uint64_t above;   // what was above at first, and the amounts of all values with greater ones

  __device__ bool has(std::uint32_t other, int shift) const {
    return shift == 32 || other >> shift == key >> shift;
  }
};

// Work space of a search.
struct search_parts {
  std::uint64_t sums[3][search_warps];
  std::uint32_t counts[3][search_warps];
  reached_key so_far;
  reached_key found;
  std::uint32_t num_few;
  std::uint32_t few_keys[few_values];
  std::uint64_t few_amounts[few_values];
};

// One round: how much and how many values have a key of at least each of the three digits above 0. Amounts of
// 32 bits are all 1.
template <class Amount>
struct digit_tally {
  static constexpr bool counts_alone = std::is_same_v<Amount, std::uint32_t>;

  std::uint64_t sums[3] = {0, 0, 0};
  std::uint32_t counts[3] = {0, 0, 0};

  __device__ void add(std::uint32_t key, Amount amount, std::uint32_t prefix, int shift) {
#pragma unroll
    for (std::uint32_t j = 0; j < 3; ++j) {
      const bool is_there = key >= (prefix | (j + 1) << shift);
      if constexpr (!counts_alone) sums[j] += is_there ? amount : 0;
      counts[j] += is_there ? 1U : 0U;
    }
  }
  // Over the lanes of a warp, each of which gets all.
  __device__ void sum_lanes() {
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      counts[j] = __reduce_add_sync(all_lanes, counts[j]);
      sums[j] = counts_alone ? counts[j] : warp_sum(sums[j]);
    }
  }
  // What was found so far, with its next digit.
  __device__ reached_key extend(const reached_key& so_far, int shift, double target) const {
    std::uint32_t digit = 0;
    std::uint32_t beyond = 0;
    std::uint32_t least = so_far.equals;
    std::uint64_t above = so_far.above;
#pragma unroll
    for (std::uint32_t j = 0; j < 3; ++j) {
      if (static_cast<double>(so_far.above + sums[j]) >= target) {
        digit = j + 1;
        least = counts[j];
      } else if (digit == j) {
        beyond = counts[j];
        above = so_far.above + sums[j];
      }
    }
    return {so_far.key | digit << shift, least - beyond, above};
  }
};

// The key, among the few values of `parts`, with which what is above reaches the target, left in parts.found;
// that stays as it is where none does. By the whole block, several lanes to a value, between two barriers.
template <class Amount>
__device__ void find_among_few(double target, search_parts& parts) {
  constexpr unsigned lanes = search_threads / few_values;
  const unsigned own = threadIdx.x / lanes;
  const std::uint32_t count = parts.num_few;
  const std::uint32_t key = own < count ? parts.few_keys[own] : 0;
  Amount above = 0;
  Amount equal = 0;
  std::uint32_t counted = 0;  // equals, and in the upper half those in front of the thread's value
  for (unsigned i = threadIdx.x % lanes; i < count; i += lanes) {
    const std::uint32_t other = parts.few_keys[i];
    const auto amount = digit_tally<Amount>::counts_alone ? 1 : static_cast<Amount>(parts.few_amounts[i]);
    above += other > key ? amount : 0;
    equal += other == key ? amount : 0;
    counted += other == key ? (i < own ? 0x10001U : 1U) : 0;
  }
#pragma unroll
  for (unsigned distance = 1; distance < lanes; distance *= 2) {
    above += __shfl_xor_sync(all_lanes, above, distance);
    equal += __shfl_xor_sync(all_lanes, equal, distance);
    counted += __shfl_xor_sync(all_lanes, counted, distance);
  }
  const bool is_first = own < count && threadIdx.x % lanes == 0 && counted >> 16U == 0;
  const std::uint64_t all_above = parts.so_far.above + above;
  if (!is_first || static_cast<double>(all_above) >= target ||
      static_cast<double>(all_above + equal) < target)
    return;
  parts.found = {key, counted, all_above};
}

// The greatest key for which `above` and the amounts of all values with a key of at least it reach the
// target; at least `prefix`, from which it differs in the last `bits` alone (an even number). The prefix
// where nothing reaches the target: then nothing else is known. Preconditions: above < target; the prefix
// ends with `bits` zeros, and keys that are not below it differ from it in those bits alone.
//   values.count()   how many there are at most
//   values.visit(f)  calls f(key, amount) for what this thread has to look at; amounts are std::uint64_t, or
//                    std::uint32_t and all 1
template <class Values>
__device__ reached_key greatest_reaching(const Values& values, std::uint32_t prefix, int bits,
                                         std::uint64_t above, double target, search_parts& parts) {
  using amount = typename Values::amount;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  reached_key found{prefix, static_cast<std::uint32_t>(values.count()), above};
  if (threadIdx.x == 0) {
    parts.num_few = 0;
    parts.so_far = parts.found = found;
  }
  int shift = bits;
  while (shift > 0 && found.equals > few_values) {
    shift -= 2;
    digit_tally<amount> tally;
    values.visit([&](std::uint32_t key, amount one) {
      if (found.has(key, shift + 2)) tally.add(key, one, found.key, shift);
    });
    tally.sum_lanes();
    if (lane == 0) {
#pragma unroll
      for (int j = 0; j < 3; ++j) {
        parts.sums[j][warp] = tally.sums[j];
        parts.counts[j][warp] = tally.counts[j];
      }
    }
    __syncthreads();
    if (warp == 0) {
      digit_tally<std::uint64_t> all;
#pragma unroll
      for (int j = 0; j < 3; ++j) {
        all.sums[j] = parts.sums[j][lane];
        all.counts[j] = parts.counts[j][lane];
      }
      all.sum_lanes();
      const reached_key extended = all.extend(found, shift, target);
      if (lane == 0) parts.so_far = parts.found = extended;
    }
    __syncthreads();
    found = parts.so_far;
  }
  __syncthreads();

  // What has these bits: few, or all bits are known and they are counted alone.
  values.visit([&](std::uint32_t key, amount one) {
    if (!found.has(key, shift)) return;
    const std::uint32_t at = atomicAdd(&parts.num_few, 1U);
    if (at >= few_values) return;
    parts.few_keys[at] = key;
    parts.few_amounts[at] = one;
  });
  __syncthreads();
  if (shift == 0) {
    found.equals = parts.num_few;
  } else {
    find_among_few<amount>(target, parts);
    __syncthreads();
    found = parts.found;
  }
  __syncthreads();
  return found;
}

}  // namespace troupe::kernels::cuda
