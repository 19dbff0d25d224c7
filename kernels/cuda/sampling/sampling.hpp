// Drawing one token for each row of logits on the device: the tokens of runtime/sampling, bit for bit.
// Weights are the same floats (own exponential, no fused operation where the CPU has none), multiples of
// 2^-33, so that their sums are exact integers and no order of threads shows; what is kept and what is drawn
// is decided by comparing the same numbers. Random numbers are Philox's, of the row's seed and position.
//
// No sort: top-k and top-p are thresholds, found by a search over the bits of a key (as FlashInfer finds them
// by pivots: Ye et al., "FlashInfer", MLSys 2025, and its blog "Sorting-free GPU kernels for LLM sampling",
// 2025; but exact, where rejection sampling would draw other tokens than the CPU), among the few values that
// can be the threshold:
// - survey, a pass over the logits: the greatest of each slice of 4,096, for top-k of each group of 32;
//   greedy rows need no more.
// - bound, top-k: the k-th greatest of greatest keys, each of several groups, which at least k logits reach.
// - weigh, a pass, not for top-k: each slice's sum of weights; for top-p a histogram of mass over weights.
// - list: for top-k what reaches the bound, of the few groups that do; for top-p, by a pass, what may be in
// the
//   bin of the histogram with the limit.
// - draw: the thresholds, searched in the list; the slice in which u falls, and the token in it.
// On an H100 a pass reads 12.6 MB (64 x 49,152) from L2 or 39 MB (64 x 151,936) from HBM: 4 or 12 us at the
// least. Where few logits can be left out, `weigh` is bound by its exponentials, about 45 instructions each.
//
// A row is cut into slices of a fixed length and its sums are exact: its token does not depend on others.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/element_type.hpp"

namespace troupe::kernels::cuda {

inline constexpr std::int32_t sampling_slice = 4096;
inline constexpr std::int32_t max_sampling_vocab = 1 << 20;

// Tokens that may be drawn, ascending, and their weights: a kept_distribution in the device's memory.
struct device_distribution {
  std::int32_t* size = nullptr;  // how many; at most the vocabulary
  std::int32_t* ids = nullptr;
  float* weights = nullptr;
};
struct drafted_distribution {  // the same, to be read
  std::int32_t size = 0;
  const std::int32_t* ids = nullptr;
  const float* weights = nullptr;
};

// How one token is drawn: sampling_params, and what a sample_row says. All pointers are the device's.
struct sampling_row {
  std::uint64_t seed = 0;
  std::int64_t position = 0;
  float temperature = 1.0F;  // greedy below 1e-5
  float top_p = 1.0F;
  float min_p = 0.0F;
  std::int32_t top_k = 0;  // 0: all
  float repetition_penalty = 1.0F;
  float presence_penalty = 0.0F;
  float frequency_penalty = 0.0F;
  std::int32_t prompt_length = 0;   // the output is what follows it in the history
  std::int32_t history_length = 0;  // looked at by penalties alone
  std::int32_t num_banned = 0;      // 0 where the minimum length is reached
  std::int32_t num_biased = 0;
  const std::int32_t* history = nullptr;  // [history_length] prompt and output so far
  const std::int32_t* banned = nullptr;   // [num_banned] ascending: end tokens, while the text is too short
  const std::int32_t* biased = nullptr;   // [num_biased] not descending
  const float* biases = nullptr;          // [num_biased]
  const std::uint32_t* mask = nullptr;    // [ceil(vocab / 32)] bits of the tokens that are allowed; null: all
  bool is_drafted = false;                // whether rejection sampling verifies a draft of this very token
  std::int32_t draft = 0;                 // that draft
  drafted_distribution drafted = {};      // what it was drawn from; without a choice it alone
  device_distribution kept = {};          // where is left what this token is drawn from: a draft; or nothing
  float* processed = nullptr;  // [stride] where the changed logits go; null: they are changed in place
};

// What the rows of a batch need, so that launches without work are left out.
struct sampling_needs {
  bool processing = true;  // a minimum length, bias or penalty
  bool weights = true;     // a row that draws, without top-k
  bool top_k = true;
  bool top_p = true;   // without top-k
  bool drafts = true;  // a draft to verify
  bool kept = true;    // a distribution to keep
};

struct sampling_batch {
  float* logits = nullptr;  // [rows][stride] f32; changed where a row is processed in place
  std::size_t stride = 0;   // a multiple of 4, rows aligned to 16 bytes
  std::int32_t vocab = 0;   // at most max_sampling_vocab
  std::int32_t num_rows = 0;
  const sampling_row* rows = nullptr;  // [rows], the device's
  std::int32_t* tokens = nullptr;      // [rows] out
  void* workspace = nullptr;  // sampling_workspace_bytes, aligned to 256 bytes; holds nothing between calls
};

std::size_t sampling_workspace_bytes(std::int32_t num_rows, std::int32_t vocab);

// All of it, in the order of runtime/sampling/sampler.hpp: minimum length, bias, penalties, then the draw. Of
// each kernel the grid depends on num_rows and vocab alone.
void sample_tokens(const sampling_batch& batch, const sampling_needs& needs, cudaStream_t stream);

}  // namespace troupe::kernels::cuda
