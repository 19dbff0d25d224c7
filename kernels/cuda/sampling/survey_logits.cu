#include "kernels/cuda/sampling/sampling_kernels.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int survey_threads = 256;
constexpr int survey_loads = sampling_slice / survey_threads / 4;  // of 16 bytes, all in flight at once

// The greater key; of equal ones the first.
__device__ void take_greater(float logit, std::int32_t id, std::uint32_t& key, std::int32_t& first) {
  const std::uint32_t other = ordered_key(logit);
  first = other > key ? id : first;
  key = other > key ? other : key;
}

// A block to a slice, 16 logits to a thread.
__global__ void __launch_bounds__(survey_threads) survey_slices(sampling_call call) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  TROUPE_SHARED(std::uint64_t, parts, [survey_threads / 32]);
  const auto slice = static_cast<std::int32_t>(blockIdx.x);
  const auto index = static_cast<std::int32_t>(blockIdx.y);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const sampling_row& row = call.batch.rows[index];
  const masked_row logits = row_of(call, index);
  const std::int32_t begin = slice * sampling_slice + thread * 4;

  float4 loaded[survey_loads];
#pragma unroll
  for (int j = 0; j < survey_loads; ++j) loaded[j] = logits.load(begin + j * survey_threads * 4);
  std::uint32_t key = 0;
  std::int32_t first = begin;
#pragma unroll
  for (int j = 0; j < survey_loads; ++j) {
    const std::int32_t id = begin + j * survey_threads * 4;
    take_greater(loaded[j].x, id, key, first);
    take_greater(loaded[j].y, id + 1, key, first);
    take_greater(loaded[j].z, id + 2, key, first);
    take_greater(loaded[j].w, id + 3, key, first);
  }

  const std::size_t at = slice_at(call, index, slice);
  if (draws(row) && has_top_k(row, call.batch.vocab)) {
    static_assert(threads_per_group == 2);
    const std::uint32_t other = __shfl_xor_sync(all_lanes, key, 1);
    if (thread % 2 == 0) call.work.group_best[at * groups_per_slice + thread / 2] = key > other ? key : other;
  }
  if (slice == 0) call.work.histogram[static_cast<std::size_t>(index) * mass_bins + thread] = 0;
  static_assert(mass_bins == survey_threads);

  const std::uint64_t best =
      warp_max(static_cast<std::uint64_t>(key) << 32U | ~static_cast<std::uint32_t>(first));
  if (thread % 32 == 0) parts[thread / 32] = best;
  __syncthreads();
  if (thread >= 32) return;
  const std::uint64_t all = warp_max(thread < survey_threads / 32 ? parts[thread] : 0);
  if (thread == 0) call.work.best[at] = all;
}

}  // namespace

void survey_logits(const sampling_call& call, cudaStream_t stream) {
  TROUPE_LAUNCH_EARLY(survey_slices,
                      dim3(static_cast<unsigned>(call.slices), static_cast<unsigned>(call.batch.num_rows)),
                      dim3(survey_threads), 0, stream, call);
}

}  // namespace troupe::kernels::cuda
