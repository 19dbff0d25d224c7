#include "kernels/cuda/sampling_kernels.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int list_threads = 256;
constexpr int list_loads = sampling_slice / list_threads / 4;
static_assert(list_threads == groups_per_slice * threads_per_group, "a thread's logits are of one group");
static_assert(list_threads == mass_bins);

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

// What a row lists: for top-k logits from a key on; for top-p those whose weight may be in a bin.
// Exponentials need not be computed for that: where the bin's edges lie among the scaled logits is known well
// enough.
struct listing {
  bool by_key;
  std::uint32_t bound;
  weighing weigh;
  float least;  // of scaled logits
  float most;

  __device__ void choose_bin(std::int32_t bin) {
    constexpr float doubt = 0.001F;
    least = bin == 0 ? weightless : logf(__uint_as_float(first_bits_of_bin(bin))) - doubt;
    most = bin == mass_bins - 1 ? infinite : logf(__uint_as_float(first_bits_of_bin(bin + 1))) + doubt;
  }

  // Also what is scaled to no number.
  __device__ bool takes(float logit) const {
    if (by_key) return ordered_key(logit) >= bound;
    const float scaled = weigh.scaled(logit);
    return !(scaled < least) && !(scaled > most);
  }
};

// Writes what each thread takes of its logits in the order of their ids: bit i of taken >> 8 * j is the logit
// i of load j. Returns how many the block takes.
__device__ std::uint32_t compact(const float4 (&loaded)[list_loads], std::uint32_t taken, float* out,
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
    const std::uint32_t bits = taken >> (8 * j);
    if ((bits & 1U) != 0) out[at++] = loaded[j].x;
    if ((bits & 2U) != 0) out[at++] = loaded[j].y;
    if ((bits & 4U) != 0) out[at++] = loaded[j].z;
    if ((bits & 8U) != 0) out[at++] = loaded[j].w;
  }
  return load_begin;
}

// A block to a slice, 16 logits to a thread, all of them in registers.
__global__ void __launch_bounds__(list_threads, 5) list_slices(sampling_call call) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  TROUPE_SHARED(std::uint64_t, parts, [list_threads / 32]);
  TROUPE_SHARED(std::uint32_t, totals, [list_threads / 32]);
  TROUPE_SHARED(std::int32_t, critical_bin);
  const auto slice = static_cast<std::int32_t>(blockIdx.x);
  const auto index = static_cast<std::int32_t>(blockIdx.y);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const sampling_row& row = call.batch.rows[index];
  const bool by_key = has_top_k(row, call.batch.vocab);
  if (!draws(row) || (!by_key && !(row.top_p < 1.0F))) return;
  const std::uint64_t best = best_of_row(call, index);
  if (key_of_best(best) <= minus_infinity_key) return;

  const std::size_t at = slice_at(call, index, slice);
  listing list{by_key, 0, weighing_of(row, best), weightless, infinite};
  bool has_any = true;  // of the thread's logits
  if (by_key) {
    list.bound = least_listed_key(call.work.bound[index]);
    has_any = call.work.group_best[at * groups_per_slice + thread / threads_per_group] >= list.bound;
  }
  if (!by_key) {
    const std::uint64_t own = call.work.slice_histogram[at * mass_bins + thread];
    const std::uint64_t* mass = call.work.mass + static_cast<std::size_t>(index) * call.slices;
    const std::uint64_t total = block_sum(thread < call.slices ? mass[thread] : 0, parts);
    static_assert(max_slices <= list_threads);
    const double target = __dmul_rn(static_cast<double>(row.top_p), static_cast<double>(total));
    const std::int32_t bin = find_critical_bin(
        call.work.histogram + static_cast<std::size_t>(index) * mass_bins, target, parts, &critical_bin);
    list.choose_bin(bin);
    if (slice == 0 && thread == 0) call.work.critical_bin[index] = bin;
    const std::uint64_t sure = block_sum(thread > bin ? own : 0, parts);
    if (thread == 0) call.work.sure[at] = sure;
  }

  const masked_row logits = row_of(call, index);
  float4 loaded[list_loads];
  if (has_any) {
#pragma unroll
    for (int j = 0; j < list_loads; ++j)
      loaded[j] = logits.load(slice * sampling_slice + (j * list_threads + thread) * 4);
  }
  std::uint32_t taken = 0;
#pragma unroll
  for (int j = 0; j < list_loads; ++j) {
    if (!has_any) continue;
    taken |= (list.takes(loaded[j].x) ? 1U : 0U) << (8 * j);
    taken |= (list.takes(loaded[j].y) ? 2U : 0U) << (8 * j);
    taken |= (list.takes(loaded[j].z) ? 4U : 0U) << (8 * j);
    taken |= (list.takes(loaded[j].w) ? 8U : 0U) << (8 * j);
  }
  const std::uint32_t count = compact(loaded, taken, call.work.listed + at * sampling_slice, totals);
  if (thread == 0) call.work.num_listed[at] = static_cast<std::int32_t>(count);
}

}  // namespace

void list_candidates(const sampling_call& call, cudaStream_t stream) {
  TROUPE_LAUNCH_EARLY(list_slices,
                      dim3(static_cast<unsigned>(call.slices), static_cast<unsigned>(call.batch.num_rows)),
                      dim3(list_threads), 0, stream, call);
}

}  // namespace troupe::kernels::cuda
