// What the sampling kernels share: the workspace between them, and a row as they read it.
#pragma once
#include "kernels/cuda/sampling/masked_row.cuh"
#include "kernels/cuda/sampling/sampling.hpp"

namespace troupe::kernels::cuda {

static_assert(sampling_slice == logit_slice);
inline constexpr std::int32_t max_slices =
    max_sampling_vocab / sampling_slice;               // a block's threads have one each
inline constexpr std::int32_t groups_per_slice = 128;  // for top-k, of 32 logits: those that two threads
inline constexpr std::int32_t threads_per_group = 2;   // of the passes with 256 threads a slice load
inline constexpr std::int32_t mass_bins = 256;

// Which tokens keep their weight. Of those equal to a limit the first few are kept: none, where the limit was
// chosen so that those above it are all.
struct kept_rule {
  weighing weigh;
  std::uint32_t key = 0;  // top-k: kept above it
  std::int32_t key_equals = 0;
  float least = 0.0F;  // top-p: kept above it
  std::int32_t least_equals = 0;
};

// Sums of all weights in steps: kept of the target's, and the draft's.
struct draft_totals {
  std::uint64_t target;
  std::uint64_t draft;
};

// What is left to do for a row when its token is drawn.
enum class draft_state : std::int32_t { none, rejected, kept };

// Between the kernels of one call. Per slice unless it says otherwise.
struct sampling_workspace {
  std::uint64_t* best;             // greatest key in the upper half, in the lower ~id of its first bearer
  std::uint32_t* group_best;       // [rows][slices][groups_per_slice] greatest keys
  std::uint32_t* bound;            // [rows] key that at least top_k logits reach
  std::uint64_t* mass;             // steps: of all weights; then of the kept ones
  std::uint64_t* histogram;        // [rows][mass_bins] steps
  std::uint64_t* slice_histogram;  // [rows][slices][mass_bins] the same of each slice
  std::uint64_t* sure;             // steps of the weights above the bin in which top-p has its limit
  std::int32_t* critical_bin;      // [rows]
  float* listed;              // [rows][slices][sampling_slice] logits in the order of their ids; then weights
  std::int32_t* num_listed;   // then of the tokens that are kept
  std::int32_t* keys_before;  // logits equal to the rule's key in the slices before
  std::int32_t* least_before;  // weights equal to the rule's least in the slices before
  kept_rule* rule;             // [rows]
  draft_state* draft;          // [rows]
  draft_totals* totals;        // [rows] of rejected drafts
  std::uint64_t* residual;     // [2] words of an unsigned 128-bit sum
};

// A batch as the kernels take it.
struct sampling_call {
  sampling_batch batch;
  sampling_workspace work;
  std::int32_t slices;
};

// Places the arrays in `memory`, null to measure; their bytes in all go to `bytes`.
sampling_workspace place_sampling_workspace(void* memory, std::int32_t num_rows, std::int32_t vocab,
                                            std::size_t& bytes);

__device__ __forceinline__ masked_row row_of(const sampling_call& call, std::int32_t index) {
  const sampling_row& row = call.batch.rows[index];
  const float* logits = row.processed != nullptr
                            ? row.processed
                            : call.batch.logits + static_cast<std::size_t>(index) * call.batch.stride;
  return {logits, row.mask, call.batch.vocab};
}

__device__ __forceinline__ std::size_t slice_at(const sampling_call& call, std::int32_t index,
                                                std::int32_t slice) {
  return static_cast<std::size_t>(index) * call.slices + slice;
}

__device__ __forceinline__ bool draws(const sampling_row& row) { return !(row.temperature < 1e-5F); }
__device__ __forceinline__ bool has_top_k(const sampling_row& row, std::int32_t vocab) {
  return row.top_k > 0 && row.top_k < vocab;
}

// The slices [begin, end) of a row that a lane looks at where each warp goes through all in order.
struct slices_of_lane {
  std::int32_t begin;
  std::int32_t end;

  __device__ explicit slices_of_lane(std::int32_t slices) {
    const std::int32_t each = (slices + 31) / 32;
    begin = min(static_cast<std::int32_t>(threadIdx.x % 32) * each, slices);
    end = min(begin + each, slices);
  }
};

// before[slice]: the sum of the slices before; may be where the counts stand. By a warp; the sum of all, for
// every lane.
__device__ __forceinline__ std::int32_t sum_before_slices(const std::int32_t* counts, std::int32_t slices,
                                                          std::int32_t* before) {
  const slices_of_lane own(slices);
  std::int32_t sum = 0;
  for (std::int32_t s = own.begin; s < own.end; ++s) sum += counts[s];
  std::int32_t so_far = warp_exclusive_sum(sum);
  const std::int32_t total = __shfl_sync(all_lanes, so_far + sum, 31);
  for (std::int32_t s = own.begin; s < own.end; ++s) {
    const std::int32_t count = counts[s];
    before[s] = so_far;
    so_far += count;
  }
  return total;
}

// The greatest key of a row and the first token that bears it; for every lane.
__device__ __forceinline__ std::uint64_t best_of_row(const sampling_call& call, std::int32_t index) {
  const std::uint64_t* best = call.work.best + static_cast<std::size_t>(index) * call.slices;
  std::uint64_t found = 0;
  for (std::int32_t s = threadIdx.x % 32; s < call.slices; s += 32) found = best[s] > found ? best[s] : found;
  return warp_max(found);
}
// The sum over a row's slices; by each warp for itself, for every lane.
__device__ __forceinline__ std::uint64_t sum_of_slices(const std::uint64_t* of_slices, std::int32_t slices) {
  std::uint64_t sum = 0;
  for (std::int32_t s = threadIdx.x % 32; s < slices; s += 32) sum += of_slices[s];
  return warp_sum(sum);
}

__device__ __forceinline__ std::uint32_t key_of_best(std::uint64_t best) {
  return static_cast<std::uint32_t>(best >> 32U);
}

__device__ __forceinline__ weighing weighing_of(const sampling_row& row, std::uint64_t best) {
  return {value_of_key(key_of_best(best)), __frcp_rn(row.temperature), row.min_p};
}

// From which key on a row with top-k lists its logits, those of weight 0 left out.
__device__ __forceinline__ std::uint32_t least_listed_key(std::uint32_t bound) {
  return bound > minus_infinity_key ? bound : minus_infinity_key + 1;
}

// A weight's bin of the histogram: eight to a power of two, and one for all below 2^-32.
__device__ __forceinline__ std::int32_t mass_bin(float weight) {
  constexpr std::uint32_t lowest = 127 * 8 - (mass_bins - 1);
  const std::uint32_t bits = __float_as_uint(weight) >> 20U;
  return bits > lowest ? static_cast<std::int32_t>(bits - lowest) : 0;
}
__device__ __forceinline__ std::uint32_t first_bits_of_bin(std::int32_t bin) {
  return bin == 0 ? 0U : (static_cast<std::uint32_t>(bin) + 127 * 8 - (mass_bins - 1)) << 20U;
}

}  // namespace troupe::kernels::cuda
