#include "kernels/cuda/relaxed_store.cuh"
#include "kernels/cuda/sampling/sampling_kernels.cuh"

namespace troupe::kernels::cuda {
namespace {

constexpr int process_threads = 1024;
constexpr std::uint32_t in_prompt = 0x80000000U;  // of a token's count; the other bits count it in the output

__device__ bool inside(std::int32_t id, std::int32_t vocab) { return id >= 0 && id < vocab; }

__device__ bool is_finite_key(float logit) { return ordered_key(logit) > minus_infinity_key; }

// Whether a masked row has a token left when the banned ones are gone. Stops at the first logits that tell.
__device__ bool leaves_a_token(const sampling_row& row, const masked_row& logits, std::uint64_t* parts) {
  std::uint64_t lost = 0;
  for (std::int32_t i = threadIdx.x; i < row.num_banned; i += process_threads) {
    const std::int32_t id = row.banned[i];
    if (!inside(id, logits.vocab)) continue;
    if ((row.mask[id / 32] >> (id % 32) & 1U) != 0 && is_finite_key(logits.logits[id])) ++lost;
  }
  lost = block_sum(lost, parts);
  std::uint64_t found = 0;
  for (std::int32_t begin = 0; begin < logits.vocab && found <= lost; begin += process_threads * 4) {
    const float4 four = logits.load(begin + static_cast<std::int32_t>(threadIdx.x) * 4);
    const unsigned count = (is_finite_key(four.x) ? 1U : 0U) + (is_finite_key(four.y) ? 1U : 0U) +
                           (is_finite_key(four.z) ? 1U : 0U) + (is_finite_key(four.w) ? 1U : 0U);
    found += block_sum(count, parts);
  }
  return found > lost;
}

// Several biases of one token are added in their order, by the thread of the first.
__device__ void add_biases(const sampling_row& row, float* logits, std::int32_t vocab) {
  for (std::int32_t i = threadIdx.x; i < row.num_biased; i += process_threads) {
    const std::int32_t id = row.biased[i];
    if (!inside(id, vocab) || (i > 0 && row.biased[i - 1] == id)) continue;
    float logit = logits[id];
    for (std::int32_t j = i; j < row.num_biased && row.biased[j] == id; ++j)
      logit = __fadd_rn(logit, row.biases[j]);
    logits[id] = logit;
  }
}

__device__ float penalized(float logit, std::uint32_t count, const sampling_row& row) {
  if (row.repetition_penalty != 1.0F) {
    logit =
        logit > 0.0F ? __fdiv_rn(logit, row.repetition_penalty) : __fmul_rn(logit, row.repetition_penalty);
  }
  const std::uint32_t in_output = count & ~in_prompt;
  if (in_output == 0 || (row.frequency_penalty == 0.0F && row.presence_penalty == 0.0F)) return logit;
  const float frequent = __fmul_rn(row.frequency_penalty, static_cast<float>(in_output));
  return __fsub_rn(logit, __fadd_rn(frequent, row.presence_penalty));
}

// Counts each token of the history in `counts` [vocab], of which nothing else is touched; whoever takes a
// token's count away changes its logit.
__device__ void penalize(const sampling_row& row, float* logits, std::int32_t vocab, std::uint32_t* counts) {
  for (std::int32_t i = threadIdx.x; i < row.history_length; i += process_threads) {
    if (inside(row.history[i], vocab)) store_relaxed(&counts[row.history[i]], 0U);
  }
  __syncthreads();
  for (std::int32_t i = threadIdx.x; i < row.history_length; i += process_threads) {
    const std::int32_t id = row.history[i];
    if (!inside(id, vocab)) continue;
    if (i < row.prompt_length) {
      atomicOr(&counts[id], in_prompt);
    } else {
      atomicAdd(&counts[id], 1U);
    }
  }
  __syncthreads();
  for (std::int32_t i = threadIdx.x; i < row.history_length; i += process_threads) {
    const std::int32_t id = row.history[i];
    if (!inside(id, vocab)) continue;
    const std::uint32_t count = atomicExch(&counts[id], 0U);
    if (count != 0) logits[id] = penalized(logits[id], count, row);
  }
}

// One block to a row: a few tokens of it are touched, at random places.
__global__ void __launch_bounds__(process_threads) process_rows(sampling_call call) {
  TROUPE_SHARED(std::uint64_t, parts, [32]);
  const auto index = static_cast<std::int32_t>(blockIdx.x);
  const sampling_row& row = call.batch.rows[index];
  const std::int32_t vocab = call.batch.vocab;
  float* logits = call.batch.logits + static_cast<std::size_t>(index) * call.batch.stride;
  if (row.processed != nullptr) {
    for (std::int32_t i = threadIdx.x; i < vocab; i += process_threads) row.processed[i] = logits[i];
    logits = row.processed;
    __syncthreads();
  }
  const bool bans =
      row.num_banned > 0 && (row.mask == nullptr || leaves_a_token(row, {logits, row.mask, vocab}, parts));
  if (bans) {
    for (std::int32_t i = threadIdx.x; i < row.num_banned; i += process_threads) {
      if (inside(row.banned[i], vocab)) store_relaxed(&logits[row.banned[i]], -infinite);
    }
    __syncthreads();
  }
  if (row.num_biased > 0) {
    add_biases(row, logits, vocab);
    __syncthreads();
  }
  if (row.repetition_penalty != 1.0F || row.frequency_penalty != 0.0F || row.presence_penalty != 0.0F) {
    float* const list = call.work.listed + static_cast<std::size_t>(index) * call.slices * sampling_slice;
    penalize(row, logits, vocab, reinterpret_cast<std::uint32_t*>(list));
  }
}

}  // namespace

void process_logits(const sampling_call& call, cudaStream_t stream) {
  TROUPE_LAUNCH(process_rows, dim3(static_cast<unsigned>(call.batch.num_rows)), dim3(process_threads), 0,
                stream, call);
}

}  // namespace troupe::kernels::cuda
