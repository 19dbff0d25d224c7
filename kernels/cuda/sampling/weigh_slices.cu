#include "kernels/cuda/sampling/sampling_kernels.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int weigh_threads = 256;
constexpr int weigh_loads = sampling_slice / weigh_threads / 4;

// Steps by bins, as split weights: sums of a slice fit in 32 bits, whose atomics are native.
struct split_histogram {
  std::uint32_t coarse[mass_bins];
  std::uint32_t fine[mass_bins];

  __device__ void add(std::int32_t bin, const split_weight& split) {
    if (split.coarse != 0) atomicAdd(&coarse[bin], split.coarse);
    atomicAdd(&fine[bin], split.fine);
  }
  __device__ std::uint64_t steps(std::int32_t bin) const {
    return static_cast<std::uint64_t>(steps_of_sums(coarse[bin], fine[bin]));
  }
};
static_assert(sampling_slice <= 1 << 12, "so many weights steps_of_sums() takes");

// A block to a slice, 16 logits to a thread, all of them in flight at once.
__global__ void __launch_bounds__(weigh_threads) sum_slices(sampling_call call) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  TROUPE_SHARED(split_histogram, histogram);
  TROUPE_SHARED(std::uint64_t, parts, [weigh_threads / 32]);
  const auto slice = static_cast<std::int32_t>(blockIdx.x);
  const auto index = static_cast<std::int32_t>(blockIdx.y);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const sampling_row& row = call.batch.rows[index];
  if (!draws(row) || has_top_k(row, call.batch.vocab)) return;
  const masked_row logits = row_of(call, index);
  float4 loaded[weigh_loads];
#pragma unroll
  for (int j = 0; j < weigh_loads; ++j)
    loaded[j] = logits.load(slice * sampling_slice + (j * weigh_threads + thread) * 4);
  const std::uint64_t best = best_of_row(call, index);
  if (key_of_best(best) <= minus_infinity_key) return;

  const bool has_top_p = row.top_p < 1.0F;
  if (has_top_p) {
    histogram.coarse[thread] = 0;
    histogram.fine[thread] = 0;
    __syncthreads();
  }
  // All weights together are at least 1, that of the greatest logit. So those that are each below this are,
  // all together, less than what top-p leaves out: it never cuts among them.
  const float least = 0.5F * (1.0F - row.top_p) / static_cast<float>(call.batch.vocab);
  const weighing weigh = weighing_of(row, best);
  std::uint32_t coarse = 0;
  std::uint32_t fine = 0;
#pragma unroll
  for (int j = 0; j < weigh_loads; ++j) {
    if (weigh.are_below(loaded[j], weightless)) continue;
    const float weights[4] = {weigh.weight(loaded[j].x), weigh.weight(loaded[j].y), weigh.weight(loaded[j].z),
                              weigh.weight(loaded[j].w)};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const split_weight split(weights[i]);
      coarse += split.coarse;
      fine += split.fine;
      if (has_top_p && weights[i] > 0.0F && weights[i] >= least) histogram.add(mass_bin(weights[i]), split);
    }
  }
  const std::uint64_t mass =
      block_sum(static_cast<std::uint64_t>(steps_of_sums(coarse, fine)), parts);  // behind a barrier
  const std::size_t at = slice_at(call, index, slice);
  if (thread == 0) call.work.mass[at] = mass;
  if (!has_top_p) return;
  const std::uint64_t steps = histogram.steps(thread);
  call.work.slice_histogram[at * mass_bins + thread] = steps;
  unsigned long long* const row_histogram = reinterpret_cast<unsigned long long*>(call.work.histogram) +
                                            static_cast<std::size_t>(index) * mass_bins;
  if (steps != 0) atomicAdd(&row_histogram[thread], static_cast<unsigned long long>(steps));
}

}  // namespace

void weigh_slices(const sampling_call& call, cudaStream_t stream) {
  TROUPE_LAUNCH_EARLY(sum_slices,
                      dim3(static_cast<unsigned>(call.slices), static_cast<unsigned>(call.batch.num_rows)),
                      dim3(weigh_threads), 0, stream, call);
}

}  // namespace troupe::kernels::cuda
