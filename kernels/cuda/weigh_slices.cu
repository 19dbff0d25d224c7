#include "kernels/cuda/sampling_kernels.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int weigh_threads = 256;
constexpr int weigh_loads = sampling_slice / weigh_threads / 4;

// Steps by bins in two halves of 17 and 16 bits: sums of a slice fit in 32 bits, whose atomics are native.
struct slice_histogram {
  std::uint32_t low[mass_bins];
  std::uint32_t high[mass_bins];

  __device__ void add(float weight) {
    constexpr std::uint32_t low_bits = 17;
    const std::uint64_t steps = weight_steps(weight);
    const std::int32_t bin = mass_bin(weight);
    atomicAdd(&low[bin], static_cast<std::uint32_t>(steps) & ((1U << low_bits) - 1));
    const auto upper = static_cast<std::uint32_t>(steps >> low_bits);
    if (upper != 0) atomicAdd(&high[bin], upper);
  }
  __device__ std::uint64_t steps(std::int32_t bin) const {
    return (static_cast<std::uint64_t>(high[bin]) << 17U) + low[bin];
  }
};

// A block to a slice, 16 logits to a thread.
__global__ void __launch_bounds__(weigh_threads) sum_slices(sampling_call call) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  TROUPE_SHARED(slice_histogram, histogram);
  TROUPE_SHARED(std::uint64_t, parts, [weigh_threads / 32]);
  const auto slice = static_cast<std::int32_t>(blockIdx.x);
  const auto index = static_cast<std::int32_t>(blockIdx.y);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const sampling_row& row = call.batch.rows[index];
  if (!draws(row) || has_top_k(row, call.batch.vocab)) return;
  const std::uint64_t best = best_of_row(call, index);
  if (key_of_best(best) <= minus_infinity_key) return;

  const bool has_top_p = row.top_p < 1.0F;
  if (has_top_p) {
    histogram.low[thread] = 0;
    histogram.high[thread] = 0;
    __syncthreads();
  }
  // All weights together are at least 1, that of the greatest logit. So those that are each below this are,
  // all together, less than what top-p leaves out: it never cuts among them.
  const float least = 0.5F * (1.0F - row.top_p) / static_cast<float>(call.batch.vocab);
  const weighing weigh = weighing_of(row, best);
  const masked_row logits = row_of(call, index);
  weight_sum sum;
#pragma unroll
  for (int j = 0; j < weigh_loads; ++j) {
    const float4 four = logits.load(slice * sampling_slice + (j * weigh_threads + thread) * 4);
    if (weigh.are_below(four, weightless)) continue;
    const float weights[4] = {weigh.weight(four.x), weigh.weight(four.y), weigh.weight(four.z),
                              weigh.weight(four.w)};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      sum.add(weights[i]);
      if (has_top_p && weights[i] > 0.0F && weights[i] >= least) histogram.add(weights[i]);
    }
  }
  const std::uint64_t mass = block_sum(static_cast<std::uint64_t>(sum.steps()), parts);
  if (thread == 0) call.work.mass[slice_at(call, index, slice)] = mass;
  if (!has_top_p) return;
  const std::uint64_t steps = histogram.steps(thread);
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
