#include "kernels/cuda/sampling/kept_slice.cuh"
#include "kernels/cuda/sampling/sampling_kernels.cuh"

namespace troupe::kernels::cuda {
namespace {

__device__ std::uint64_t count_kept(const kept_steps& kept) {
  std::uint64_t count = 0;
#pragma unroll
  for (int i = 0; i < 4; ++i) count += kept.of[i] > 0 ? 1 : 0;
  return count;
}

// A block to a slice; nothing to do where no distribution is kept.
__global__ void __launch_bounds__(search_threads) count_kept_tokens(sampling_call call) {
  TROUPE_SHARED(std::uint64_t, sums, [search_warps]);
  const auto slice = static_cast<std::int32_t>(blockIdx.x);
  const auto index = static_cast<std::int32_t>(blockIdx.y);
  if (call.work.draft[index] != draft_state::kept) return;
  const kept_steps kept = keep_of_slice(call, index, slice, call.work.rule[index], sums);
  const std::uint64_t count = block_sum(count_kept(kept), sums);
  if (threadIdx.x == 0) call.work.num_listed[slice_at(call, index, slice)] = static_cast<std::int32_t>(count);
}

// The same once more, behind what the slices before keep.
__global__ void __launch_bounds__(search_threads) write_kept_tokens(sampling_call call) {
  TROUPE_SHARED(std::uint64_t, sums, [search_warps]);
  const auto slice = static_cast<std::int32_t>(blockIdx.x);
  const auto index = static_cast<std::int32_t>(blockIdx.y);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  if (call.work.draft[index] != draft_state::kept) return;
  const std::int32_t own = thread < slice ? call.work.num_listed[slice_at(call, index, thread)] : 0;
  const std::uint64_t slices_before = block_sum(static_cast<std::uint64_t>(own), sums);
  const kept_steps kept = keep_of_slice(call, index, slice, call.work.rule[index], sums);
  std::uint64_t total = 0;
  std::uint64_t at = slices_before + block_exclusive_sum(count_kept(kept), sums, total);

  const device_distribution& out = call.batch.rows[index].kept;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    if (kept.of[i] == 0) continue;
    out.ids[at] = slice * sampling_slice + thread * 4 + i;
    out.weights[at] = static_cast<float>(kept.of[i]) * 0x1.0p-33F;
    ++at;
  }
  if (slice == call.slices - 1 && thread == 0) *out.size = static_cast<std::int32_t>(slices_before + total);
}

}  // namespace

void keep_distributions(const sampling_call& call, cudaStream_t stream) {
  const dim3 slices(static_cast<unsigned>(call.slices), static_cast<unsigned>(call.batch.num_rows));
  TROUPE_LAUNCH(count_kept_tokens, slices, dim3(search_threads), 0, stream, call);
  TROUPE_LAUNCH(write_kept_tokens, slices, dim3(search_threads), 0, stream, call);
}

}  // namespace troupe::kernels::cuda
