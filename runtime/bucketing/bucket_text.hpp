// Buckets in words, as vLLM for Gaudi logs them.
#pragma once
#include <string>
#include <vector>

#include "runtime/bucketing/make_buckets.hpp"

namespace troupe {

std::string to_string(const bucket& b);          // "(1, 128, 0)"
std::string to_string(const unified_bucket& b);  // "(8, 0, 8, 0)"

// One line each:
//   Prompt bucket config (min, step, max_warmup, limit) bs:[1, 1, 1, 1], seq:[128, 128, 1024, 11]
//   Decode bucket config (min, step, max_warmup, limit) bs:[1, 1, 4, 3], block:[128, 128, 5781, 14]
//   Generated 36 prompt buckets [bs, query, num_blocks]: [(1, 128, 0), (1, 128, 1), ...]
//   Generated 375 unified buckets [query, shared_blocks, unique_blocks]: [(8, 0, 0, 1), ...]
// The linear strategy has no limit. Of more than 1024 buckets only the first and last few are written out.
std::vector<std::string> describe(const bucket_plan& plan);

}  // namespace troupe
