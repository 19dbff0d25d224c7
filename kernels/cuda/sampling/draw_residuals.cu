#include "kernels/cuda/sampling/draft_math.cuh"
#include "kernels/cuda/sampling/kept_slice.cuh"
#include "kernels/cuda/sampling/sampling_kernels.cuh"

namespace troupe::kernels::cuda {
namespace {

// Shared memory of a block that looks at a slice of target and draft.
struct residual_space {
  std::uint64_t sums[search_warps];
  std::uint64_t before[2];
  std::int32_t slice;
  float drafted[sampling_slice];
};

__device__ std::int32_t first_not_below(const std::int32_t* ids, std::int32_t size, std::int32_t id) {
  std::int32_t begin = 0;
  while (begin < size) {
    const std::int32_t middle = begin + (size - begin) / 2;
    if (ids[middle] < id) {
      begin = middle + 1;
    } else {
      size = middle;
    }
  }
  return begin;
}

// How much more the target gives each of the thread's four tokens than the draft.
struct residual_four {
  wide of[4];

  __device__ wide sum() const { return of[0] + of[1] + of[2] + of[3]; }
};

__device__ residual_four residual_of_slice(const sampling_call& call, std::int32_t index, std::int32_t slice,
                                           residual_space& space) {
  const sampling_row& row = call.batch.rows[index];
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const std::int32_t base = slice * sampling_slice;
#pragma unroll
  for (int i = 0; i < 4; ++i) space.drafted[thread * 4 + i] = 0.0F;
  __syncthreads();
  const std::int32_t* const ids = row.drafted.ids;
  const std::int32_t size = row.drafted.size;
  const std::int32_t end = first_not_below(ids, size, base + sampling_slice);
  for (std::int32_t i = first_not_below(ids, size, base) + thread; i < end; i += search_threads) {
    space.drafted[ids[i] - base] = row.drafted.weights[i];
  }
  __syncthreads();

  const kept_steps kept = keep_of_slice(call, index, slice, call.work.rule[index], space.sums);
  const draft_totals totals = call.work.totals[index];
  residual_four residual;
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const wide wanted = wide{kept.of[i]} * totals.draft;
    const wide given = wide{weight_steps(space.drafted[thread * 4 + i])} * totals.target;
    residual.of[i] = wanted > given ? wanted - given : 0;
  }
  return residual;
}

// A block to a slice; nothing to do where no draft is rejected.
__global__ void __launch_bounds__(search_threads) sum_residuals(sampling_call call) {
  TROUPE_SHARED(residual_space, space);
  const auto slice = static_cast<std::int32_t>(blockIdx.x);
  const auto index = static_cast<std::int32_t>(blockIdx.y);
  if (call.work.draft[index] != draft_state::rejected) return;
  wide total = 0;
  block_exclusive_sum_wide(residual_of_slice(call, index, slice, space).sum(), space.sums, total);
  if (threadIdx.x != 0) return;
  std::uint64_t* const out = call.work.residual + slice_at(call, index, slice) * 2;
  out[0] = static_cast<std::uint64_t>(total);
  out[1] = static_cast<std::uint64_t>(total >> 64U);
}

__device__ bool holds(wide before, wide amount, wide goal) {
  return before <= goal && goal - before < amount;
}

// A block to a row.
__global__ void __launch_bounds__(search_threads) draw_rejected(sampling_call call) {
  TROUPE_SHARED(residual_space, space);
  TROUPE_SHARED(std::int32_t, found);
  const auto index = static_cast<std::int32_t>(blockIdx.x);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  if (call.work.draft[index] != draft_state::rejected) return;
  const sampling_row& row = call.batch.rows[index];
  const std::uint64_t u =
      uniform_bits(row.seed, static_cast<std::uint64_t>(row.position), random_stream::residual);

  wide own = 0;
  if (thread < call.slices) {
    const std::uint64_t* const words = call.work.residual + slice_at(call, index, thread) * 2;
    own = wide{words[0]} + (wide{words[1]} << 64U);
  }
  wide total = 0;
  const wide before = block_exclusive_sum_wide(own, space.sums, total);
  if (total == 0) {
    const std::uint64_t* const mass = call.work.mass + slice_at(call, index, 0);
    const std::int32_t token = draw_kept(call, index, call.work.rule[index], mass, u, space.sums, found);
    if (thread == 0) call.batch.tokens[index] = token;
    return;
  }
  const wide goal = share_of_wide(u, total);
  if (holds(before, own, goal)) {
    space.slice = thread;
    space.before[0] = static_cast<std::uint64_t>(before);
    space.before[1] = static_cast<std::uint64_t>(before >> 64U);
  }
  __syncthreads();
  const residual_four residual = residual_of_slice(call, index, space.slice, space);
  wide slice_total = 0;
  wide below = wide{space.before[0]} + (wide{space.before[1]} << 64U) +
               block_exclusive_sum_wide(residual.sum(), space.sums, slice_total);
  if (!holds(below, residual.sum(), goal)) return;
  std::int32_t token = space.slice * sampling_slice + thread * 4;
#pragma unroll
  for (int i = 0; i < 3; ++i) {
    below += residual.of[i];
    token += below <= goal ? 1 : 0;
  }
  call.batch.tokens[index] = token;
}

}  // namespace

void draw_residuals(const sampling_call& call, cudaStream_t stream) {
  const auto rows = static_cast<unsigned>(call.batch.num_rows);
  TROUPE_LAUNCH(sum_residuals, dim3(static_cast<unsigned>(call.slices), rows), dim3(search_threads), 0,
                stream, call);
  TROUPE_LAUNCH(draw_rejected, dim3(rows), dim3(search_threads), 0, stream, call);
}

}  // namespace troupe::kernels::cuda
