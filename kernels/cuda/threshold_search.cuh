// The search for a threshold among values that a block of 1,024 threads can reach: two bits of the key in a
// round. The block counts until few values have the bits that were found; a warp goes on among those alone,
// since what a round of the block takes is its barriers and sums, however few the values are.
#pragma once
#include <type_traits>

#include "kernels/cuda/sampling_math.cuh"

namespace troupe::kernels::cuda {

inline constexpr int search_threads = 1024;
inline constexpr int search_warps = search_threads / 32;
inline constexpr std::uint32_t few_values = 128;

// What a search has found out: its threshold, or so far the first bits of that.
struct reached_key {
  std::uint32_t key;     // bits that were not looked at are 0
  std::uint32_t equals;  // how many values have these bits; at first at least as many as there are
  std::uint64_t above;   // what was above at first, and the amounts of all values with greater ones
  bool is_reached;       // whether those with these bits or greater ones are known to reach the target

  __device__ bool has(std::uint32_t other, int shift) const {
    return shift == 32 || other >> shift == key >> shift;
  }
};

// Work space of a search.
struct search_parts {
  std::uint64_t sums[3][search_warps];
  std::uint32_t counts[3][search_warps];
  reached_key so_far;
  std::uint32_t num_few;
  std::uint32_t few_keys[few_values];
  std::uint64_t few_amounts[few_values];
};

// One round: how much and how many values have a key of at least each of the three digits above 0.
template <class Amount>
struct digit_tally {
  static constexpr bool counts_alone = std::is_same_v<Amount, std::uint32_t>;  // each value's amount is 1

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
  // The next digit of what was found so far.
  __device__ void extend(reached_key& so_far, int shift, double target) const {
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
    so_far.key |= digit << shift;
    so_far.equals = least - beyond;
    so_far.above = above;
    so_far.is_reached |= digit > 0;
  }
};

// Goes on below the bit `shift` among the values of `parts`, by one warp, for which nobody waits here.
template <class Amount>
__device__ void search_few(int shift, int last, double target, search_parts& parts) {
  constexpr int most = few_values / 32;
  const unsigned lane = threadIdx.x % 32;
  const std::uint32_t count = parts.num_few;
  std::uint32_t keys[most];
#pragma unroll
  for (unsigned i = 0; i < most; ++i) keys[i] = i * 32 + lane < count ? parts.few_keys[i * 32 + lane] : 0;
  reached_key found = parts.so_far;
  found.equals = count;
  while (shift > last && !(found.is_reached && found.equals == 1)) {
    shift -= 2;
    digit_tally<Amount> tally;
#pragma unroll
    for (unsigned i = 0; i < most; ++i) {
      if (i * 32 + lane >= count || !found.has(keys[i], shift + 2)) continue;
      tally.add(keys[i], static_cast<Amount>(parts.few_amounts[i * 32 + lane]), found.key, shift);
    }
    tally.sum_lanes();
    tally.extend(found, shift, target);
  }
  // The one that is left has these bits, so it alone writes the others.
  bool is_it = false;
#pragma unroll
  for (unsigned i = 0; i < most; ++i) {
    if (i * 32 + lane >= count || !found.has(keys[i], shift)) continue;
    is_it = found.is_reached && found.equals == 1;
    if (is_it) found.key = keys[i] >> last << last;
  }
  __syncwarp();
  if (is_it || (lane == 0 && !(found.is_reached && found.equals == 1))) parts.so_far = found;
}

// The greatest key for which `above` and the amounts of all values with a key of at least it reach the
// target; at least `prefix`, from which it differs in the last `bits` alone (an even number), and `prefix`
// where nothing reaches it. Preconditions: above < target; the prefix ends with `bits` zeros, and keys that
// are not below it differ from it in those bits alone. With last > 0 only the bits above the last ones are
// searched: a lower bound.
//   values.count()   how many there are at most
//   values.visit(f)  calls f(key, amount) for what this thread has to look at; amounts of 1 alone are
//                    std::uint32_t
template <class Values>
__device__ reached_key greatest_reaching(const Values& values, std::uint32_t prefix, int bits, int last,
                                         std::uint64_t above, double target, search_parts& parts) {
  using amount = typename Values::amount;
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  reached_key found{prefix, static_cast<std::uint32_t>(values.count()), above, false};
  if (threadIdx.x == 0) {
    parts.num_few = 0;
    parts.so_far = found;
  }
  int shift = bits;
  while (shift > last && found.equals > few_values) {
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
      all.extend(found, shift, target);
      if (lane == 0) parts.so_far = found;
    }
    __syncthreads();
    found = parts.so_far;
  }
  __syncthreads();

  // Few are left, or none of the bits: then what has them all is counted, however many there are.
  values.visit([&](std::uint32_t key, amount one) {
    if (!found.has(key, shift)) return;
    const std::uint32_t at = atomicAdd(&parts.num_few, 1U);
    if (at >= few_values) return;
    parts.few_keys[at] = key;
    parts.few_amounts[at] = one;
  });
  __syncthreads();
  if (shift == last) {
    found.equals = parts.num_few;
  } else {
    if (warp == 0) search_few<amount>(shift, last, target, parts);
    __syncthreads();
    found = parts.so_far;
  }
  __syncthreads();
  return found;
}

}  // namespace troupe::kernels::cuda
