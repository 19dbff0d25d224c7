// The search for a threshold among values that a block of 1,024 threads can reach: two bits of the key in a
// round.
#pragma once
#include "kernels/cuda/sampling_math.cuh"

namespace troupe::kernels::cuda {

inline constexpr int search_threads = 1024;
inline constexpr int search_warps = search_threads / 32;

// Work space of a search: by the parity of the round, so that one barrier a round is enough.
struct search_parts {
  std::uint64_t sums[2][3][search_warps];
  std::uint32_t counts[2][3][search_warps];
  std::uint32_t found;
};

// The greatest key for which `above` and the amounts of all values with a key of at least it reach the
// target; at least `prefix`, from which it differs in the last `bits` alone (an even number), and `prefix`
// where nothing reaches it. Preconditions: above < target; keys that are not below the prefix differ from it
// in those bits alone. With last > 0 only the bits above the last ones are searched: a lower bound. Where a
// single value is left that has the bits found so far, it is the one.
//   values.visit(f)  calls f(key, amount) for what this thread has to look at
template <class Values>
__device__ std::uint32_t greatest_reaching(const Values& values, std::uint32_t prefix, int bits, int last,
                                           std::uint64_t above, double target, search_parts& parts) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  int parity = 0;
  // Values with a key of at least the digit's, and of those of the next: what is between has the digit. At
  // first nobody knows how many are not below the prefix; 0 stands for the digit behind the last.
  std::uint32_t least = ~0U;
  std::uint32_t beyond = 0;
  bool reaches = false;
  for (int shift = bits - 2; shift >= last; shift -= 2) {
    std::uint64_t reached[3] = {0, 0, 0};
    std::uint32_t counted[3] = {0, 0, 0};
    values.visit([&](std::uint32_t key, std::uint64_t amount) {
#pragma unroll
      for (std::uint32_t j = 0; j < 3; ++j) {
        const bool is_there = key >= (prefix | (j + 1) << shift);
        reached[j] += is_there ? amount : 0;
        counted[j] += is_there ? 1U : 0U;
      }
    });
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      const std::uint64_t sum = warp_sum(reached[j]);
      const std::uint32_t count = __reduce_add_sync(all_lanes, counted[j]);
      if (lane == 0) {
        parts.sums[parity][j][warp] = sum;
        parts.counts[parity][j][warp] = count;
      }
    }
    __syncthreads();
    std::uint32_t digit = 0;
    const std::uint32_t all_beyond = beyond;
#pragma unroll
    for (std::uint32_t j = 0; j < 3; ++j) {
      const std::uint64_t sum = above + warp_sum(parts.sums[parity][j][lane]);
      const std::uint32_t count = __reduce_add_sync(all_lanes, parts.counts[parity][j][lane]);
      if (static_cast<double>(sum) >= target) {
        digit = j + 1;
        least = count;
        beyond = all_beyond;
      } else if (digit == j) {
        beyond = count;
      }
    }
    prefix |= digit << shift;
    parity ^= 1;
    reaches |= digit > 0;
    if (!reaches || least - beyond != 1 || shift == last) continue;
    values.visit([&](std::uint32_t key, std::uint64_t) {
      if (key >> shift == prefix >> shift) parts.found = key >> last << last;
    });
    __syncthreads();
    prefix = parts.found;
    break;
  }
  __syncthreads();
  return prefix;
}

}  // namespace troupe::kernels::cuda
