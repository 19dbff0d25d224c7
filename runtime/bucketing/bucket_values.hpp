// The values of one dimension of the buckets, after the strategies of vLLM's bucketing for Gaudi
// (https://docs.vllm.ai/projects/gaudi, "Bucketing Mechanism").
#pragma once
#include <cstdint>
#include <vector>

namespace troupe {

// Where a value is taken already: take a free one nearby, or leave it out.
enum class bucket_fill { fill, drop };

struct bucket_range {
  std::int32_t min = 0;    // at least 0
  std::int32_t step = 1;   // at least 1
  std::int32_t max = 0;    // at least min, at most max_bucket_value
  std::int32_t limit = 1;  // at least 1; exponential only

  friend bool operator==(const bucket_range&, const bucket_range&) = default;
};

inline constexpr std::int32_t max_bucket_value = 1 << 24;
inline constexpr std::int32_t max_bucket_limit = 4096;

// At most `limit` values, ascending. Value i of limit is min * (max / min)^(i / (limit - 1)), rounded up to a
// multiple of step; the first is min itself, the last is max rounded up. A limit of 1 gives max alone; a min
// of 0 adds 0 and goes on from step. fill: a value that is taken already becomes the free multiple of step
// that is nearest to the unrounded one (of two the lower), between min and the rounded max; without a free
// one the list ends.
std::vector<std::int32_t> exponential_values(const bucket_range& range, bucket_fill fill);

// min, 2 min, 4 min, ... while below step and at most max, then the multiples of step from min to max,
// ascending. A min of 0 adds 0 and goes on from step. May be empty.
std::vector<std::int32_t> linear_values(const bucket_range& range);

// ceil(log2(max)) + 1: the limit of a range that names none.
std::int32_t default_bucket_limit(std::int64_t max);

}  // namespace troupe
