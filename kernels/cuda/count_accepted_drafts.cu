#include "kernels/cuda/device.cuh"
#include "kernels/cuda/sampling.hpp"

namespace troupe::kernels::cuda {
namespace {

constexpr int check_threads = 128;

// A thread to a sequence: a few words each, and the first wrong draft ends it.
__global__ void __launch_bounds__(check_threads) check_drafts(draft_check check) {
  const auto sequence = static_cast<std::int32_t>(blockIdx.x * check_threads + threadIdx.x);
  if (sequence >= check.num_sequences) return;
  const std::int32_t first = check.first[sequence];
  const std::int32_t count = check.count[sequence];
  std::int32_t right = 0;
  while (right < count && check.tokens[first + right] == check.drafts[first + right + 1]) ++right;
  check.accepted[sequence] = right;
}

}  // namespace

void count_accepted_drafts(const draft_check& check, cudaStream_t stream) {
  if (check.num_sequences <= 0) return;
  const auto blocks = static_cast<unsigned>((check.num_sequences + check_threads - 1) / check_threads);
  TROUPE_LAUNCH(check_drafts, dim3(blocks), dim3(check_threads), 0, stream, check);
}

}  // namespace troupe::kernels::cuda
