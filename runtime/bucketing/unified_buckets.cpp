#include "runtime/bucketing/unified_buckets.hpp"

#include <algorithm>

namespace troupe {
namespace {

bool is_possible(const unified_bucket& b, const engine_sizes& sizes) {
  const std::int64_t shared_tokens = std::int64_t{b.shared_blocks} * sizes.block_size;
  if (b.causal) return shared_tokens / std::min(sizes.max_num_seqs, b.query) <= sizes.max_model_len;
  return b.query <= sizes.max_num_seqs && context_of(b) > 0 &&
         shared_tokens / std::max(1, b.query / 2) <= sizes.max_model_len;
}

std::vector<std::int32_t> with_zero(std::vector<std::int32_t> points) {
  if (points.empty() || points.front() != 0) points.insert(points.begin(), 0);
  return points;
}

}  // namespace

std::vector<std::int32_t> unified_points(std::int32_t max_num_seqs, std::int32_t max) {
  std::vector<std::int32_t> points;
  for (const std::int32_t whole : {max_num_seqs, max}) {
    for (const std::int32_t part : {4, 2, 1}) points.push_back(whole / part);
  }
  std::sort(points.begin(), points.end());
  points.erase(std::unique(points.begin(), points.end()), points.end());
  return points;
}

std::vector<unified_bucket> unified_buckets(const engine_sizes& sizes) {
  const std::int64_t most_shared = std::int64_t{sizes.max_model_len} * sizes.max_num_seqs / sizes.block_size;
  const auto shared_max = static_cast<std::int32_t>(std::min<std::int64_t>(most_shared, 1 << 30));
  const auto queries = unified_points(sizes.max_num_seqs, sizes.max_num_batched_tokens);
  const auto shared = with_zero(unified_points(sizes.max_num_seqs, shared_max));
  const auto unique = with_zero(unified_points(sizes.max_num_seqs, sizes.num_blocks));
  std::vector<unified_bucket> buckets;
  for (const std::int32_t query : queries) {
    if (query == 0) continue;
    for (const std::int32_t s : shared) {
      for (const std::int32_t u : unique) {
        for (const bool causal : {false, true}) {
          const unified_bucket candidate{query, s, u, causal};
          if (is_possible(candidate, sizes)) buckets.push_back(candidate);
        }
      }
    }
  }
  return buckets;
}

}  // namespace troupe
