#include "kernels/cuda/sampling_kernels.cuh"
#include "kernels/cuda/threshold_search.cuh"

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

// The first 22 bits of the k-th greatest of the groups' greatest keys; 0 where there are fewer groups than
// that.
__global__ void __launch_bounds__(search_threads, 1) find_bounds(sampling_call call) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  TROUPE_SHARED(search_parts, parts);
  const auto index = static_cast<std::int32_t>(blockIdx.x);
  const sampling_row& row = call.batch.rows[index];
  if (!draws(row) || !has_top_k(row, call.batch.vocab)) return;
  const std::int32_t count = call.slices * groups_per_slice;
  const group_keys groups{call.work.group_best + static_cast<std::size_t>(index) * count, count};
  const reached_key bound = greatest_reaching(groups, 0, 32, 10, 0, static_cast<double>(row.top_k), parts);
  if (threadIdx.x == 0) call.work.bound[index] = bound.key;
}

}  // namespace

void bound_top_k(const sampling_call& call, cudaStream_t stream) {
  TROUPE_LAUNCH_EARLY(find_bounds, dim3(static_cast<unsigned>(call.batch.num_rows)), dim3(search_threads), 0,
                      stream, call);
}

}  // namespace troupe::kernels::cuda
