#include "kernels/cuda/sampling/draft_math.cuh"
#include "kernels/cuda/sampling/find_rule.cuh"
#include "kernels/cuda/sampling/kept_slice.cuh"
#include "kernels/cuda/sampling/sampling_kernels.cuh"

namespace troupe::kernels::cuda {
namespace {

// `token` where the mask allows it, else the first that it does.
__device__ std::int32_t allowed_from(std::int32_t token, const std::uint32_t* mask, std::int32_t vocab) {
  if (mask == nullptr || (mask[token / 32] >> (token % 32) & 1U) != 0) return token;
  for (std::int32_t w = 0; w < (vocab + 31) / 32; ++w) {
    if (mask[w] != 0) return w * 32 + __ffs(static_cast<int>(mask[w])) - 1;
  }
  return token;
}

// A token without a choice.
__device__ void settle(const sampling_call& call, std::int32_t index, std::int32_t token) {
  call.batch.tokens[index] = token;
  const device_distribution& kept = call.batch.rows[index].kept;
  if (kept.size == nullptr) return;
  *kept.size = 1;
  kept.ids[0] = token;
  kept.weights[0] = 1.0F;
}

// Leaves the row to draw_residuals() where the draft is rejected.
__device__ bool accept_draft(const sampling_call& call, std::int32_t index, const kept_rule& rule,
                             const std::uint64_t* kept_mass, draw_space& space, draft_weights& weights) {
  const sampling_row& row = call.batch.rows[index];
  const auto thread = static_cast<std::int32_t>(threadIdx.x);
  if (thread == 0) weights = {0, 0};
  __syncthreads();
  const std::int32_t draft = row.draft;
  const std::int32_t size = row.drafted.size;
  std::uint64_t drafted = 0;
  for (std::int32_t i = thread; i < size; i += search_threads) {
    const std::uint64_t steps = weight_steps(row.drafted.weights[i]);
    drafted += steps;
    if (row.drafted.ids[i] == draft) weights.draft = steps;
  }
  drafted = block_sum(drafted, space.sums);
  const std::uint64_t target = sum_of_slices(kept_mass, call.slices);
  if (draft >= 0 && draft < call.batch.vocab) {
    const std::int32_t slice = draft / sampling_slice;
    const kept_steps kept = keep_of_slice(call, index, slice, rule, space.sums);
    const std::int32_t first = slice * sampling_slice + thread * 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      if (first + i == draft) weights.target = kept.of[i];
    }
    __syncthreads();
  }
  if (thread == 0) call.work.totals[index] = {target, drafted};
  const std::uint64_t u =
      uniform_bits(row.seed, static_cast<std::uint64_t>(row.position), random_stream::accept);
  return wide{weights.target} * drafted > share_of_wide(u, wide{weights.draft} * target);
}

// A block to a row.
__global__ void __launch_bounds__(search_threads, 1) draw_rows(sampling_call call) {
  let_later_kernels_begin();
  wait_for_earlier_kernels();
  TROUPE_SHARED(draw_space, space);
  TROUPE_SHARED(draft_weights, weights);
  TROUPE_SHARED(std::int32_t, found);
  const auto index = static_cast<std::int32_t>(blockIdx.x);
  const sampling_row& row = call.batch.rows[index];
  const bool writes = threadIdx.x == 0;
  if (writes) call.work.draft[index] = draft_state::none;
  const std::uint64_t best = best_of_row(call, index);
  const bool is_empty = key_of_best(best) <= minus_infinity_key;
  if (!draws(row) || is_empty) {
    // A draft is right where it is this token, and replaced by it where it is not.
    const auto first = static_cast<std::int32_t>(~static_cast<std::uint32_t>(best));
    if (writes) settle(call, index, allowed_from(is_empty ? 0 : first, row.mask, call.batch.vocab));
    return;
  }

  rule_finder finder(call, index, best, space);
  const kept_rule rule = finder.find();
  if (!row.is_drafted) {
    const std::uint64_t u =
        uniform_bits(row.seed, static_cast<std::uint64_t>(row.position), random_stream::draw);
    const std::int32_t token = draw_kept(call, index, rule, finder.kept_mass(), u, space.sums, found);
    if (!writes) return;
    call.batch.tokens[index] = token;
    if (row.kept.size == nullptr) return;
    call.work.draft[index] = draft_state::kept;
    call.work.rule[index] = rule;
    return;
  }
  const bool accepted = accept_draft(call, index, rule, finder.kept_mass(), space, weights);
  if (!writes) return;
  call.batch.tokens[index] = row.draft;
  if (accepted) return;
  call.work.draft[index] = draft_state::rejected;
  call.work.rule[index] = rule;
}

}  // namespace

sampling_workspace place_sampling_workspace(void* memory, std::int32_t num_rows, std::int32_t vocab,
                                            std::size_t& bytes) {
  const auto rows = static_cast<std::size_t>(num_rows);
  const std::size_t slices = rows * static_cast<std::size_t>(num_logit_slices(vocab));
  carver carve(memory);
  sampling_workspace work{};
  work.best = carve.take<std::uint64_t>(slices);
  work.group_best = carve.take<std::uint32_t>(slices * groups_per_slice);
  work.bound = carve.take<std::uint32_t>(rows);
  work.mass = carve.take<std::uint64_t>(slices);
  work.histogram = carve.take<std::uint64_t>(rows * mass_bins);
  work.slice_histogram = carve.take<std::uint64_t>(slices * mass_bins);
  work.sure = carve.take<std::uint64_t>(slices);
  work.critical_bin = carve.take<std::int32_t>(rows);
  work.listed = carve.take<float>(slices * sampling_slice);
  work.num_listed = carve.take<std::int32_t>(slices);
  work.keys_before = carve.take<std::int32_t>(slices);
  work.least_before = carve.take<std::int32_t>(slices);
  work.rule = carve.take<kept_rule>(rows);
  work.draft = carve.take<draft_state>(rows);
  work.totals = carve.take<draft_totals>(rows);
  work.residual = carve.take<std::uint64_t>(slices * 2);
  bytes = carve.used();
  return work;
}

std::size_t sampling_workspace_bytes(std::int32_t num_rows, std::int32_t vocab) {
  std::size_t bytes = 0;
  place_sampling_workspace(nullptr, num_rows, vocab, bytes);
  return bytes;
}

void draw_tokens(const sampling_call& call, cudaStream_t stream) {
  TROUPE_LAUNCH_EARLY(draw_rows, dim3(static_cast<unsigned>(call.batch.num_rows)), dim3(search_threads), 0,
                      stream, call);
}

void sample_tokens(const sampling_batch& batch, const sampling_needs& needs, cudaStream_t stream) {
  if (batch.num_rows <= 0) return;
  std::size_t bytes = 0;
  const sampling_call call{batch,
                           place_sampling_workspace(batch.workspace, batch.num_rows, batch.vocab, bytes),
                           num_logit_slices(batch.vocab)};
  if (needs.processing) process_logits(call, stream);
  survey_logits(call, stream);
  if (needs.top_k) bound_top_k(call, stream);
  if (needs.weights || needs.top_p) weigh_slices(call, stream);
  if (needs.top_k || needs.top_p) list_candidates(call, needs, stream);
  draw_tokens(call, stream);
  if (needs.kept) keep_distributions(call, stream);
  if (needs.drafts) draw_residuals(call, stream);
}

}  // namespace troupe::kernels::cuda
