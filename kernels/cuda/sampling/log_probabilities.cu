#include "kernels/cuda/sampling/log_probabilities.hpp"

#include "kernels/cuda/sampling/masked_row.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int logprob_threads = 256;
constexpr int logprob_loads = logit_slice / logprob_threads / 4;
constexpr int logprob_warps = logprob_threads / 32;
constexpr std::int32_t sum_block = 256;  // the host adds up so many exponentials in 16 lanes
constexpr std::int32_t sums_per_slice = logit_slice / sum_block;
constexpr int sum_lanes = 16;

// A key in the upper half, ~id in the lower: the order of the best first, no two equal. NaN counts as minus
// infinity.
__device__ std::uint64_t ranked(float logit, std::int32_t id) {
  const std::uint32_t key = ordered_key(logit);
  return static_cast<std::uint64_t>(key > minus_infinity_key ? key : minus_infinity_key) << 32U |
         ~static_cast<std::uint32_t>(id);
}
__device__ float logit_of(std::uint64_t rank) {
  return value_of_key(static_cast<std::uint32_t>(rank >> 32U));
}
__device__ std::int32_t id_of(std::uint64_t rank) {
  return static_cast<std::int32_t>(~static_cast<std::uint32_t>(rank));
}

struct logprob_call {
  logprob_batch batch;
  std::int32_t slices;
  std::int32_t kept;      // of the best of a slice: at least 1
  std::uint64_t* best;    // [rows][slices][kept]; 0 where a slice has fewer
  double* sums;           // [rows][slices][sums_per_slice]
  std::int32_t* greater;  // [rows][slices] logits before the token in rank

  __device__ std::size_t at(std::int32_t row, std::int32_t slice) const {
    return static_cast<std::size_t>(row) * slices + slice;
  }
};

__device__ masked_row logits_of(const logprob_call& call, std::int32_t row) {
  return {call.batch.rows[row].logits, call.batch.rows[row].mask, call.batch.vocab};
}

// The greatest of a block's values, for every thread. `parts`: one per warp, of one of two alternating
// arrays.
__device__ std::uint64_t block_greatest(std::uint64_t value, std::uint64_t* parts) {
  const unsigned lane = threadIdx.x % 32;
  value = warp_max(value);
  if (lane == 0) parts[threadIdx.x / 32] = value;
  __syncthreads();
  return warp_max(lane < logprob_warps ? parts[lane] : 0);
}

// The best of a slice, one after another: each the greatest that is less than the one before.
__global__ void __launch_bounds__(logprob_threads) best_of_slices(logprob_call call) {
  TROUPE_SHARED(std::uint64_t, parts, [2][logprob_warps]);
  const auto slice = static_cast<std::int32_t>(blockIdx.x);
  const auto row = static_cast<std::int32_t>(blockIdx.y);
  const masked_row logits = logits_of(call, row);
  const std::int32_t begin = slice * logit_slice + static_cast<std::int32_t>(threadIdx.x) * 4;
  float4 loaded[logprob_loads];
#pragma unroll
  for (int j = 0; j < logprob_loads; ++j) loaded[j] = logits.load(begin + j * logprob_threads * 4);

  const std::int32_t top = call.batch.rows[row].top;
  const std::int32_t count = top > 1 ? top : 1;
  std::uint64_t last = ~std::uint64_t{0};
  for (std::int32_t n = 0; n < count; ++n) {
    std::uint64_t next = 0;
#pragma unroll
    for (int j = 0; j < logprob_loads; ++j) {
      const float values[4] = {loaded[j].x, loaded[j].y, loaded[j].z, loaded[j].w};
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        const std::int32_t id = begin + j * logprob_threads * 4 + i;
        const std::uint64_t rank = id < call.batch.vocab ? ranked(values[i], id) : 0;
        next = rank < last && rank > next ? rank : next;
      }
    }
    last = block_greatest(next, parts[n % 2]);
    if (threadIdx.x == 0) call.best[call.at(row, slice) * call.kept + n] = last;
  }
}

// The greatest logit of a row, for every lane.
__device__ float greatest_logit(const logprob_call& call, std::int32_t row) {
  std::uint64_t best = 0;
  for (std::int32_t s = threadIdx.x % 32; s < call.slices; s += 32) {
    const std::uint64_t of_slice = call.best[call.at(row, s) * call.kept];
    best = of_slice > best ? of_slice : best;
  }
  return logit_of(warp_max(best));
}

// The sum of 256 exponentials by half a warp, as the host adds them: each lane every sixteenth, the rest of
// the last block to the first, then lane by lane.
__device__ double sum_of_block(const masked_row& logits, std::int32_t begin, float max, int lane) {
  const std::int32_t left = logits.vocab - begin;
  const std::int32_t count = left < sum_block ? (left > 0 ? left : 0) : sum_block;
  const auto exponential = [&](std::int32_t i) {
    const float x = __fsub_rn(logits.at(begin + i), max);
    return static_cast<double>(x > -87.0F ? exp_non_positive(x) : 0.0F);
  };
  const std::int32_t whole = count / sum_lanes * sum_lanes;
  double sum = 0.0;
  for (std::int32_t i = lane; i < whole; i += sum_lanes) sum = __dadd_rn(sum, exponential(i));
  for (std::int32_t i = whole; i < count && lane == 0; ++i) sum = __dadd_rn(sum, exponential(i));
  double total = 0.0;
#pragma unroll
  for (int from = 0; from < sum_lanes; ++from)
    total = __dadd_rn(total, __shfl_sync(all_lanes, sum, from, sum_lanes));
  return total;
}

__global__ void __launch_bounds__(logprob_threads) sum_exponentials(logprob_call call) {
  TROUPE_SHARED(std::uint64_t, parts, [logprob_warps]);
  const auto slice = static_cast<std::int32_t>(blockIdx.x);
  const auto row = static_cast<std::int32_t>(blockIdx.y);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const masked_row logits = logits_of(call, row);
  const float max = greatest_logit(call, row);
  const std::int32_t begin = slice * logit_slice;
  const std::int32_t block = thread / sum_lanes;
  const double sum = sum_of_block(logits, begin + block * sum_block, max, thread % sum_lanes);
  if (thread % sum_lanes == 0) call.sums[call.at(row, slice) * sums_per_slice + block] = sum;

  const std::int32_t token = *call.batch.rows[row].token;
  const bool is_inside = token >= 0 && token < logits.vocab;
  const std::uint64_t own = is_inside ? ranked(logits.at(token), token) : 0;
  std::uint64_t before = 0;
#pragma unroll
  for (int j = 0; j < logprob_loads; ++j) {
    const std::int32_t id = begin + (j * logprob_threads + thread) * 4;
    const float4 four = logits.load(id);
    const float values[4] = {four.x, four.y, four.z, four.w};
#pragma unroll
    for (int i = 0; i < 4; ++i) before += id + i < logits.vocab && ranked(values[i], id + i) > own ? 1 : 0;
  }
  before = block_sum(before, parts);
  if (thread == 0) call.greater[call.at(row, slice)] = static_cast<std::int32_t>(before);
}

__device__ float log_probability(float logit, float max, double log_sum) {
  const double value = __dadd_rn(__dadd_rn(static_cast<double>(logit), -static_cast<double>(max)), -log_sum);
  return static_cast<float>(value >= -9999.0 ? value : -9999.0);
}

// The blocks' sums in their order, one addition after another as on the host.
__device__ double log_of_sum(const logprob_call& call, std::int32_t row, float max) {
  if (!(max > -infinite && max < infinite)) return 0.0;
  const double* sums = call.sums + call.at(row, 0) * sums_per_slice;
  const std::int32_t count = (call.batch.vocab + sum_block - 1) / sum_block;
  double total = 0.0;
  for (std::int32_t i = 0; i < count; ++i) total = __dadd_rn(total, sums[i]);
  return log(total);
}

// A block to a row.
__global__ void __launch_bounds__(logprob_threads) finish_rows(logprob_call call) {
  TROUPE_SHARED(std::uint64_t, parts, [2][logprob_warps]);
  TROUPE_SHARED(double, shared_log);
  const auto row = static_cast<std::int32_t>(blockIdx.x);
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  const logprob_row& asked = call.batch.rows[row];
  const masked_row logits = logits_of(call, row);
  const float max = greatest_logit(call, row);
  if (thread == 0) shared_log = log_of_sum(call, row, max);
  std::uint64_t before = 0;
  for (std::int32_t s = thread; s < call.slices; s += logprob_threads)
    before += static_cast<std::uint64_t>(call.greater[call.at(row, s)]);
  before = block_sum(before, parts[0]);
  const double log_sum = shared_log;
  if (thread == 0) {
    const std::int32_t token = *asked.token;
    const bool is_inside = token >= 0 && token < logits.vocab;
    call.batch.logprobs[row] = is_inside ? log_probability(logits.at(token), max, log_sum) : -9999.0F;
    call.batch.ranks[row] = is_inside ? 1 + static_cast<std::int32_t>(before) : 0;
  }

  std::uint64_t last = ~std::uint64_t{0};
  for (std::int32_t n = 0; n < asked.top; ++n) {
    std::uint64_t next = 0;
    for (std::int32_t i = thread; i < call.slices * asked.top; i += logprob_threads) {
      const std::uint64_t rank = call.best[call.at(row, i / asked.top) * call.kept + i % asked.top];
      next = rank < last && rank > next ? rank : next;
    }
    last = block_greatest(next, parts[n % 2]);
    if (thread != 0) continue;
    const std::size_t out = static_cast<std::size_t>(row) * call.batch.max_top + n;
    call.batch.top_ids[out] = id_of(last);
    call.batch.top_logprobs[out] = log_probability(logit_of(last), max, log_sum);
  }
}

// The call with its arrays placed in the workspace, null to measure; their bytes in all go to `bytes`.
logprob_call place_logprobs(const logprob_batch& batch, std::size_t& bytes) {
  logprob_call call{
      batch, num_logit_slices(batch.vocab), batch.max_top > 1 ? batch.max_top : 1, nullptr, nullptr, nullptr};
  const std::size_t slices = static_cast<std::size_t>(batch.num_rows) * static_cast<std::size_t>(call.slices);
  carver carve(batch.workspace);
  call.best = carve.take<std::uint64_t>(slices * static_cast<std::size_t>(call.kept));
  call.sums = carve.take<double>(slices * sums_per_slice);
  call.greater = carve.take<std::int32_t>(slices);
  bytes = carve.used();
  return call;
}

}  // namespace

std::size_t logprob_workspace_bytes(std::int32_t num_rows, std::int32_t vocab, std::int32_t max_top) {
  logprob_batch batch;
  batch.num_rows = num_rows;
  batch.vocab = vocab;
  batch.max_top = max_top;
  std::size_t bytes = 0;
  place_logprobs(batch, bytes);
  return bytes;
}

void compute_log_probabilities(const logprob_batch& batch, cudaStream_t stream) {
  if (batch.num_rows <= 0) return;
  std::size_t bytes = 0;
  const logprob_call call = place_logprobs(batch, bytes);
  const auto rows = static_cast<unsigned>(batch.num_rows);
  const dim3 slices(static_cast<unsigned>(call.slices), rows);
  TROUPE_LAUNCH(best_of_slices, slices, dim3(logprob_threads), 0, stream, call);
  TROUPE_LAUNCH(sum_exponentials, slices, dim3(logprob_threads), 0, stream, call);
  TROUPE_LAUNCH(finish_rows, dim3(rows), dim3(logprob_threads), 0, stream, call);
}

}  // namespace troupe::kernels::cuda
