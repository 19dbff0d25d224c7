// Fixed shapes that steps are rounded up to, so that a device with compiled graphs, or a tuned kernel plan,
// sees few of them. The dimensions are those of vLLM's bucketing for Gaudi.
#pragma once
#include <compare>
#include <cstdint>

namespace troupe {

// Sequences side by side, rows of each, and blocks of context: of a prompt those before its first row, of a
// decode (query 1) all of them, its own row's included. `blocks` are those of the sequence that has most.
struct bucket {
  std::int32_t batch = 0;
  std::int32_t query = 0;
  std::int32_t blocks = 0;

  friend auto operator<=>(const bucket&, const bucket&) = default;
};

// Prompts and decodes as one: all rows of the step, context blocks that more than one row reads, context
// blocks that one row reads, and whether the step holds a prompt.
struct unified_bucket {
  std::int32_t query = 0;
  std::int32_t shared_blocks = 0;
  std::int32_t unique_blocks = 0;
  bool causal = false;

  friend auto operator<=>(const unified_bucket&, const unified_bucket&) = default;
};

// Whether a step of shape `shape` can run in bucket `in`.
inline bool fits(const bucket& shape, const bucket& in) {
  return shape.batch <= in.batch && shape.query <= in.query && shape.blocks <= in.blocks;
}
inline bool fits(const unified_bucket& shape, const unified_bucket& in) {
  return shape.query <= in.query && shape.shared_blocks <= in.shared_blocks &&
         shape.unique_blocks <= in.unique_blocks && shape.causal == in.causal;
}

// The rows that a step in this bucket computes, padding included.
inline std::int64_t rows_of(const bucket& b) { return std::int64_t{b.batch} * b.query; }
inline std::int64_t rows_of(const unified_bucket& b) { return b.query; }

// The context blocks that such a step reads.
inline std::int64_t context_of(const bucket& b) { return std::int64_t{b.batch} * b.blocks; }
inline std::int64_t context_of(const unified_bucket& b) {
  return std::int64_t{b.shared_blocks} + b.unique_blocks;
}

}  // namespace troupe
