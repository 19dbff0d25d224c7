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
};

// The greatest key for which `above` and the amounts of all values with a key of at least it reach the
// target; at least `prefix`, from which it differs in the last `bits` alone (an even number), and `prefix`
// where nothing reaches it. With last > 0 only the bits above the last ones are searched: a lower bound.
//   values.visit(f)  calls f(key, amount) for what this thread has to look at
template <class Values>
__device__ std::uint32_t greatest_reaching(const Values& values, std::uint32_t prefix, int bits, int last,
                                           std::uint64_t above, double target, search_parts& parts) {
  const unsigned lane = threadIdx.x % 32;
  const unsigned warp = threadIdx.x / 32;
  int parity = 0;
  for (int shift = bits - 2; shift >= last; shift -= 2) {
    std::uint64_t reached[3] = {0, 0, 0};
    values.visit([&](std::uint32_t key, std::uint64_t amount) {
#pragma unroll
      for (std::uint32_t j = 0; j < 3; ++j) reached[j] += key >= (prefix | (j + 1) << shift) ? amount : 0;
    });
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      const std::uint64_t sum = warp_sum(reached[j]);
      if (lane == 0) parts.sums[parity][j][warp] = sum;
    }
    __syncthreads();
    std::uint32_t digit = 0;
#pragma unroll
    for (std::uint32_t j = 0; j < 3; ++j) {
      const std::uint64_t sum = above + warp_sum(parts.sums[parity][j][lane]);
      digit = static_cast<double>(sum) >= target ? j + 1 : digit;
    }
    prefix |= digit << shift;
    parity ^= 1;
  }
  __syncthreads();
  return prefix;
}

}  // namespace troupe::kernels::cuda
