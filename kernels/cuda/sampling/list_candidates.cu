#include "kernels/cuda/sampling/sampling_kernels.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int list_threads = 256;
constexpr int list_loads = sampling_slice / list_threads / 4;
static_assert(list_threads == groups_per_slice * threads_per_group, "a thread's logits are of one group");
static_assert(list_threads == mass_bins);

// In its slice the first of the four logits that the thread loads the j-th time.
__device__ __forceinline__ std::int32_t first_of_load(int j) {
  return (j * list_threads + static_cast<std::int32_t>(threadIdx.x)) * 4;
}

// The bin in which the mass from the greatest weights down reaches the target, left in `found`, which is
// shared. A thread of the block per bin, the greatest first.
__device__ std::int32_t find_critical_bin(const std::uint64_t* histogram, double target, std::uint64_t* parts,
                                          std::int32_t* found) {
  const std::int32_t bin = mass_bins - 1 - static_cast<std::int32_t>(threadIdx.x);
  const std::uint64_t mass = histogram[bin];
  std::uint64_t total = 0;
  const std::uint64_t before = block_exclusive_sum(mass, parts, total);
  if (static_cast<double>(before) < target && static_cast<double>(before + mass) >= target) *found = bin;
  __syncthreads();
  return *found;
}

// Logits whose key is at least a bound.
struct reaching_key {
  std::uint32_t bound;
  __device__ bool takes(float logit) const { return ordered_key(logit) >= bound; }
};

// Logits whose weight may be in a bin, and what is scaled to no number. Exponentials need not be computed for
// that: where the bin's edges lie among the scaled logits is known well enough. Small weights are rounded to
// steps of 2^-33, by half of one at most.
struct near_bin {
  weighing weigh;
  float least;  // of scaled logits
  float most;

  __device__ near_bin(const weighing& weighed, std::int32_t bin) : weigh(weighed) {
    constexpr float doubt = 0.001F;
    constexpr float half_a_step = 0x1.0p-34F;
    const auto edge = [](std::int32_t of) { return __uint_as_float(first_bits_of_bin(of)); };
    least = bin == 0 ? weightless : logf(edge(bin) - half_a_step) - doubt;
    most = bin == mass_bins - 1 ? infinite : logf(edge(bin + 1) + half_a_step) + doubt;
  }
  __device__ bool takes(float logit) const {
    const float scaled = weigh.scaled(logit);
    return !(scaled < least) && !(scaled > most);
  }
};

// Writes what each thread takes of its logits in the order of their ids: bit i of taken >> 8 * j is the logit
// i of load j. They are few, and are read once more. Returns how many the block takes.
__device__ std::uint32_t compact(const float* logits, std::uint32_t taken, float* out,
                                 std::uint32_t* totals) {
  static_assert(list_loads == 4, "a byte of a word counts the taken logits of a load");
  const unsigned warp = threadIdx.x / 32;
  std::uint32_t counts = 0;
#pragma unroll
  for (int j = 0; j < list_loads; ++j)
    counts |= static_cast<std::uint32_t>(__popc(taken >> (8 * j) & 15U)) << (8 * j);
  const std::uint32_t before = warp_exclusive_sum(counts);  // at most 128 a byte
  if (threadIdx.x % 32 == 31) totals[warp] = before + counts;
  __syncthreads();

  std::uint32_t load_begin = 0;
#pragma unroll
  for (int j = 0; j < list_loads; ++j) {
    std::uint32_t at = load_begin + (before >> (8 * j) & 255U);
    for (unsigned w = 0; w < list_threads / 32; ++w) {
      const std::uint32_t count = totals[w] >> (8 * j) & 255U;
      at += w < warp ? count : 0;
      load_begin += count;
    }
    const float* const four = logits + first_of_load(j);
    for (std::uint32_t bits = taken >> (8 * j) & 15U; bits != 0; bits &= bits - 1)
      out[at++] = four[__ffs(static_cast<int>(bits)) - 1];
  }
  return load_begin;
}

// Lists what is taken of a slice's logits, 16 to a thread.
template <class Rule>
__device__ void list_slice(const sampling_call& call, std::int32_t index, std::int32_t slice, bool has_any,
                           const Rule& rule, std::uint32_t* totals) {
  const masked_row row = row_of(call, index);
  const std::int32_t begin = slice * sampling_slice;
  std::uint32_t taken = 0;
  if (has_any) {
    float4 loaded[list_loads];
#pragma unroll
    for (int j = 0; j < list_loads; ++j) loaded[j] = row.load(begin + first_of_load(j));
#pragma unroll
    for (int j = 0; j < list_loads; ++j) {
      taken |= (rule.takes(loaded[j].x) ? 1U : 0U) << (8 * j);
      taken |= (rule.takes(loaded[j].y) ? 2U : 0U) << (8 * j);
      taken |= (rule.takes(loaded[j].z) ? 4U : 0U) << (8 * j);
      taken |= (rule.takes(loaded[j].w) ? 8U : 0U) << (8 * j);
    }
  }
  const std::size_t at = slice_at(call, index, slice);
  const std::uint32_t count =
      compact(row.logits + begin, taken, call.work.listed + at * sampling_slice, totals);
  if (threadIdx.x == 0) call.work.num_listed[at] = static_cast<std::int32_t>(count);
}

// Top-k: a block to a slice. Of most groups of logits it is known that none reaches the bound.
__global__ void __launch_bounds__(list_threads, 6) list_greatest(sampling_call call) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  TROUPE_SHARED(std::uint32_t, totals, [list_threads / 32]);
  const auto slice = static_cast<std::int32_t>(blockIdx.x);
  const auto index = static_cast<std::int32_t>(blockIdx.y);
  const sampling_row& row = call.batch.rows[index];
  if (!draws(row) || !has_top_k(row, call.batch.vocab)) return;
  const std::uint32_t* const greatest =
      call.work.group_best + slice_at(call, index, slice) * groups_per_slice;
  const reaching_key rule{least_listed_key(call.work.bound[index])};
  list_slice(call, index, slice, greatest[threadIdx.x / threads_per_group] >= rule.bound, rule, totals);
}

// Top-p without top-k: a block to a slice.
__global__ void __launch_bounds__(list_threads, 6) list_critical(sampling_call call) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  TROUPE_SHARED(std::uint64_t, parts, [list_threads / 32]);
  TROUPE_SHARED(std::uint32_t, totals, [list_threads / 32]);
  TROUPE_SHARED(std::int32_t, critical_bin);
  const auto slice = static_cast<std::int32_t>(blockIdx.x);
  const auto index = static_cast<std::int32_t>(blockIdx.y);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const sampling_row& row = call.batch.rows[index];
  if (!draws(row) || has_top_k(row, call.batch.vocab) || !(row.top_p < 1.0F)) return;
  const std::uint64_t best = best_of_row(call, index);
  if (key_of_best(best) <= minus_infinity_key) return;

  const std::size_t at = slice_at(call, index, slice);
  const std::uint64_t own = call.work.slice_histogram[at * mass_bins + thread];
  const std::uint64_t total = sum_of_slices(call.work.mass + slice_at(call, index, 0), call.slices);
  const double target = __dmul_rn(static_cast<double>(row.top_p), static_cast<double>(total));
  const std::int32_t bin = find_critical_bin(
      call.work.histogram + static_cast<std::size_t>(index) * mass_bins, target, parts, &critical_bin);
  if (slice == 0 && thread == 0) call.work.critical_bin[index] = bin;
  const std::uint64_t sure = block_sum(thread > bin ? own : 0, parts);
  if (thread == 0) call.work.sure[at] = sure;
  list_slice(call, index, slice, true, near_bin(weighing_of(row, best), bin), totals);
}

}  // namespace

void list_candidates(const sampling_call& call, const sampling_needs& needs, cudaStream_t stream) {
  const dim3 slices(static_cast<unsigned>(call.slices), static_cast<unsigned>(call.batch.num_rows));
  if (needs.top_k) TROUPE_LAUNCH_EARLY(list_greatest, slices, dim3(list_threads), 0, stream, call);
  if (needs.top_p) TROUPE_LAUNCH_EARLY(list_critical, slices, dim3(list_threads), 0, stream, call);
}

}  // namespace troupe::kernels::cuda
