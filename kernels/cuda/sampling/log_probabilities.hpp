// Log-probabilities and ranks of tokens, and the best few, for rows of logits: those of runtime/sampling,
// whose sums are added in the same order. (The logarithm is the device's own: its double may differ in the
// last bit.)
//
// Three launches over slices of 4,096 logits: the best few of each slice; the sums of exponentials of each
// 256 logits and the counts for the rank; and for each row one block that puts them together. Two passes over
// the logits, which an H100 reads from L2 (64 x 49,152: 4 us a pass); the best n of a slice take n rounds of
// a block's maximum.
#pragma once
#include <cstddef>
#include <cstdint>

#include "kernels/cuda/element_type.hpp"

namespace troupe::kernels::cuda {

inline constexpr std::int32_t max_top_logprobs = 64;

struct logprob_row {
  const float* logits = nullptr;  // [vocab] before processing, aligned to 16 bytes
  const std::uint32_t* mask =
      nullptr;  // [ceil(vocab / 32)] log-probabilities are those among these; null: all
  const std::int32_t* token = nullptr;  // whose are asked for: where sample_tokens() left it, or a prompt's
  std::int32_t top = 0;                 // how many of the best, at most max_top
};

struct logprob_batch {
  const logprob_row* rows = nullptr;  // [rows], the device's
  std::int32_t num_rows = 0;
  std::int32_t vocab = 0;    // at most 2^20
  std::int32_t max_top = 0;  // at most max_top_logprobs and vocab
  void* workspace = nullptr;
  float* logprobs = nullptr;        // [rows] out; -9999 where it would be less or no number
  std::int32_t* ranks = nullptr;    // [rows] out; 1 is the best, of equal ones the first
  std::int32_t* top_ids = nullptr;  // [rows][max_top] out, best first, equal ones by ascending id
  float* top_logprobs = nullptr;    // [rows][max_top] out; of a row only the first `top` are written
};

std::size_t logprob_workspace_bytes(std::int32_t num_rows, std::int32_t vocab, std::int32_t max_top);

void compute_log_probabilities(const logprob_batch& batch, cudaStream_t stream);

}  // namespace troupe::kernels::cuda
