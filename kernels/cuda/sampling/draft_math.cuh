// Rejection sampling of drafts in integers of 128 bits, as runtime/sampling/verify_draft.cpp: target and
// draft on one scale, every weight times the total of the other's.
#pragma once
#include "kernels/cuda/sampling/sampling_math.cuh"

namespace troupe::kernels::cuda {

__extension__ typedef unsigned __int128 wide;  // NOLINT(modernize-use-using)

// A draft's token in both distributions, in steps.
struct draft_weights {
  std::uint64_t target;
  std::uint64_t draft;
};

// The integer part of u * amount, for u = bits * 2^-53 and an amount of at most 2^106.
__device__ __forceinline__ wide share_of_wide(std::uint64_t bits, wide amount) {
  const wide low = amount & ((wide{1} << 53U) - 1);
  return (amount >> 53U) * bits + (low * bits >> 53U);
}

// The sum of the threads before this one; `total` of all. By three sums of 40 bits each.
__device__ __forceinline__ wide block_exclusive_sum_wide(wide value, std::uint64_t* parts, wide& total) {
  constexpr std::uint64_t mask = (std::uint64_t{1} << 40U) - 1;
  std::uint64_t totals[3];
  const std::uint64_t low = block_exclusive_sum(static_cast<std::uint64_t>(value) & mask, parts, totals[0]);
  const std::uint64_t middle =
      block_exclusive_sum(static_cast<std::uint64_t>(value >> 40U) & mask, parts, totals[1]);
  const std::uint64_t high = block_exclusive_sum(static_cast<std::uint64_t>(value >> 80U), parts, totals[2]);
  total = wide{totals[0]} + (wide{totals[1]} << 40U) + (wide{totals[2]} << 80U);
  return wide{low} + (wide{middle} << 40U) + (wide{high} << 80U);
}

}  // namespace troupe::kernels::cuda
