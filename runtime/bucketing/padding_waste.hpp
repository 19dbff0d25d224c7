// What padding costs over a trace of prompt lengths, and the buckets that make it cost least.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bucketing/bucket_table.hpp"
#include "runtime/result.hpp"

namespace troupe {

inline constexpr std::size_t max_trace_bytes = std::size_t{64} << 20U;
inline constexpr std::size_t max_distinct_lengths = std::size_t{1} << 16U;
inline constexpr std::int32_t max_suggested_buckets = 1024;

// Lengths in tokens, each at least 1, separated by blanks, commas or line breaks; '#' begins a comment.
// `path` stands before the line number in errors. Errors: invalid_argument (a bad line, no length at all).
result<std::vector<std::int32_t>> parse_trace(std::string_view text, const std::string& path);

struct padding_waste {
  std::int64_t lengths = 0;
  std::int64_t tokens = 0;          // of all lengths
  std::int64_t padding_tokens = 0;  // that their buckets add
  std::int64_t fallbacks = 0;       // lengths beyond every bucket: they run unpadded

  // Padding as a share of all that is computed; 0 where nothing is.
  double share() const;
};

// Every length as a prompt that runs whole and alone: one sequence, no context.
padding_waste measure_waste(const std::vector<std::int32_t>& lengths, const bucket_table<bucket>& prompts);
padding_waste measure_waste(const std::vector<std::int32_t>& lengths,
                            const bucket_table<unified_bucket>& unified);

struct suggested_lengths {
  std::vector<std::int32_t> lengths;  // ascending; the last is the longest of the trace
  std::int64_t padding_tokens = 0;
};

// The at most `count` bucket lengths with the least padding over `lengths` (least of all choices): dynamic
// programming over the distinct lengths, by divide and conquer, since the cost of a bucket obeys the
// quadrangle inequality (F. F. Yao, "Efficient dynamic programming using quadrangle inequalities", STOC
// 1980): O(count * n log n). Errors: invalid_argument (no length, more than max_distinct_lengths, count not 1
// to max_suggested_buckets).
result<suggested_lengths> suggest_lengths(std::vector<std::int32_t> lengths, std::int32_t count);

}  // namespace troupe
