#include "kernels/cuda/sampling/sampling_kernels.cuh"
#include "kernels/cuda/sampling/threshold_search.cuh"

namespace troupe::kernels::cuda {
namespace {

struct group_keys {
  using amount = std::uint32_t;
  const std::uint32_t* keys;
  std::int32_t groups;

  __device__ std::int32_t count() const { return groups; }
  template <class Visit>
  __device__ void visit(Visit visit) const {
    for (std::int32_t i = threadIdx.x; i < groups; i += search_threads) visit(keys[i], amount{1});
  }
};

// The k-th greatest of few greatest keys, each of some of the groups: at least k logits reach it, and of a
// vocabulary of usual size not many more. k is at most few_values.
__device__ std::uint32_t bound_of_few(const group_keys& groups, std::int32_t k, search_parts& parts) {
  static_assert(search_threads % few_values == 0);
  if (threadIdx.x < few_values) parts.few_keys[threadIdx.x] = 0;
  if (threadIdx.x == 0) {
    parts.num_few = few_values;
    parts.so_far = parts.found = {0, few_values, 0};
  }
  std::uint32_t greatest = 0;
  groups.visit([&](std::uint32_t key, std::uint32_t) { greatest = max(greatest, key); });
  __syncthreads();
  atomicMax(&parts.few_keys[threadIdx.x % few_values], greatest);
  __syncthreads();
  find_among_few<std::uint32_t>(static_cast<double>(k), parts);
  __syncthreads();
  return parts.found.key;
}

// A key that at least top_k logits reach: one of the groups' greatest; 0 where there are fewer groups.
__global__ void __launch_bounds__(search_threads, 1) find_bounds(sampling_call call) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  TROUPE_SHARED(search_parts, parts);
  const auto index = static_cast<std::int32_t>(blockIdx.x);
  const sampling_row& row = call.batch.rows[index];
  if (!draws(row) || !has_top_k(row, call.batch.vocab)) return;
  const std::int32_t count = call.slices * groups_per_slice;
  const group_keys groups{call.work.group_best + static_cast<std::size_t>(index) * count, count};
  const std::uint32_t bound =
      row.top_k <= static_cast<std::int32_t>(few_values)
          ? bound_of_few(groups, row.top_k, parts)
          : greatest_reaching(groups, 0, 32, 0, static_cast<double>(row.top_k), parts).key;
  if (threadIdx.x == 0) call.work.bound[index] = bound;
}

}  // namespace

void bound_top_k(const sampling_call& call, cudaStream_t stream) {
  TROUPE_LAUNCH_EARLY(find_bounds, dim3(static_cast<unsigned>(call.batch.num_rows)), dim3(search_threads), 0,
                      stream, call);
}

}  // namespace troupe::kernels::cuda
