// One slice of a row, its logits read once more by a block of 1,024 threads: the weights that the rule keeps.
#pragma once
#include "kernels/cuda/sampling/sampling_batch.cuh"
#include "kernels/cuda/sampling/threshold_search.cuh"

namespace troupe::kernels::cuda {

static_assert(sampling_slice == search_threads * 4);

// Of the thread's four tokens, from slice * sampling_slice + threadIdx.x * 4 on.
struct kept_steps {
  std::uint64_t of[4];

  __device__ std::uint64_t sum() const { return of[0] + of[1] + of[2] + of[3]; }
};

// Whether each of four equal values is among the first `kept` of the row. `before`: in the slices before.
__device__ __forceinline__ unsigned first_equals(unsigned equals, std::int32_t before, std::int32_t kept,
                                                 std::uint64_t* sums) {
  std::uint64_t total = 0;
  const std::uint64_t threads_before =
      block_exclusive_sum(static_cast<std::uint64_t>(__popc(equals)), sums, total);
  std::int32_t rank = before + static_cast<std::int32_t>(threads_before);
  unsigned first = 0;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    if ((equals >> i & 1U) == 0) continue;
    first |= rank < kept ? 1U << i : 0U;
    ++rank;
  }
  return first;
}

__device__ __forceinline__ kept_steps keep_of_slice(const sampling_call& call, std::int32_t index,
                                                    std::int32_t slice, const kept_rule& rule,
                                                    std::uint64_t* sums) {
  const std::size_t at = slice_at(call, index, slice);
  const float4 four =
      row_of(call, index).load(slice * sampling_slice + static_cast<std::int32_t>(threadIdx.x) * 4);
  const float logits[4] = {four.x, four.y, four.z, four.w};
  unsigned above = 0;
  unsigned equals = 0;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    const std::uint32_t key = ordered_key(logits[i]);
    above |= (key > rule.key ? 1U : 0U) << i;
    equals |= (key == rule.key ? 1U : 0U) << i;
  }
  if (rule.key_equals > 0) above |= first_equals(equals, call.work.keys_before[at], rule.key_equals, sums);

  float weights[4];
  unsigned kept = 0;
  equals = 0;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) {
    weights[i] = (above >> i & 1U) != 0 ? rule.weigh.weight(logits[i]) : 0.0F;
    kept |= (weights[i] > rule.least ? 1U : 0U) << i;
    equals |= (weights[i] == rule.least ? 1U : 0U) << i;
  }
  if (rule.least_equals > 0)
    kept |= first_equals(equals, call.work.least_before[at], rule.least_equals, sums);
  kept_steps steps;
#pragma unroll
  for (unsigned i = 0; i < 4; ++i) steps.of[i] = (kept >> i & 1U) != 0 ? weight_steps(weights[i]) : 0;
  return steps;
}

// The slice in which a draw falls, and the steps of what is kept before it.
struct drawn_slice {
  std::int32_t slice;
  std::uint64_t before;
  double target;  // steps
};

// By each warp for itself, for every lane. `mass`: steps of what is kept of each slice of the row.
__device__ __forceinline__ drawn_slice find_slice(const std::uint64_t* mass, std::int32_t slices,
                                                  std::uint64_t u) {
  const slices_of_lane own(slices);
  std::uint64_t sum = 0;
  for (std::int32_t s = own.begin; s < own.end; ++s) sum += mass[s];
  drawn_slice drawn{-1, warp_exclusive_sum(sum), 0};
  drawn.target = share_of(u, __shfl_sync(all_lanes, drawn.before + sum, 31));
  for (std::int32_t s = own.begin; s < own.end; ++s) {
    const std::uint64_t beyond = drawn.before + mass[s];
    if (static_cast<double>(drawn.before) <= drawn.target && static_cast<double>(beyond) > drawn.target) {
      drawn.slice = s;
      break;
    }
    drawn.before = beyond;
  }
  const int lane = __ffs(static_cast<int>(__ballot_sync(all_lanes, drawn.slice >= 0))) - 1;
  drawn.slice = __shfl_sync(all_lanes, drawn.slice, lane);
  drawn.before = __shfl_sync(all_lanes, drawn.before, lane);
  return drawn;
}

// The first token whose cumulated kept weight, in the order of ids, passes u of all, left in `found`, which
// is shared. For every thread.
__device__ __forceinline__ std::int32_t draw_kept(const sampling_call& call, std::int32_t index,
                                                  const kept_rule& rule, const std::uint64_t* mass,
                                                  std::uint64_t u, std::uint64_t* sums, std::int32_t& found) {
  const drawn_slice drawn = find_slice(mass, call.slices, u);
  const kept_steps kept = keep_of_slice(call, index, drawn.slice, rule, sums);
  const std::uint64_t own = kept.sum();
  std::uint64_t slice_total = 0;
  std::uint64_t below = drawn.before + block_exclusive_sum(own, sums, slice_total);
  if (static_cast<double>(below) <= drawn.target && static_cast<double>(below + own) > drawn.target) {
    std::int32_t i = 0;
#pragma unroll
    for (int j = 0; j < 3; ++j) {
      below += kept.of[j];
      i += static_cast<double>(below) <= drawn.target ? 1 : 0;
    }
    found = drawn.slice * sampling_slice + static_cast<std::int32_t>(threadIdx.x) * 4 + i;
  }
  __syncthreads();
  return found;
}

}  // namespace troupe::kernels::cuda
