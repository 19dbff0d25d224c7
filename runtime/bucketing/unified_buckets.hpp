// The buckets of unified attention, where prompts and decodes run as one batch, after vLLM's bucketing for
// Gaudi.
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/bucketing/bucket.hpp"
#include "runtime/bucketing/engine_sizes.hpp"

namespace troupe {

// Six points: a quarter, half and whole of max_num_seqs and of `max`. Ascending, equal ones once.
std::vector<std::int32_t> unified_points(std::int32_t max_num_seqs, std::int32_t max);

// Every combination of the points (query up to max_num_batched_tokens, shared blocks up to max_model_len *
// max_num_seqs / block_size, unique blocks up to num_blocks; 0 blocks too) that a step can have:
// causal where shared * block_size / min(max_num_seqs, query) <= max_model_len, not causal where query <=
// max_num_seqs, there is some context and shared * block_size / max(1, query / 2) <= max_model_len.
std::vector<unified_bucket> unified_buckets(const engine_sizes& sizes);

}  // namespace troupe
