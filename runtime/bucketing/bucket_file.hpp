// Buckets written out in a file, in the format of vLLM's VLLM_BUCKETING_FROM_FILE for Gaudi:
//
//   (1, 2048, 0)                     # one bucket: batch size, query length, context blocks
//   (1, [256, 512], [0, 4, 8])       # every combination of the lists
//   (1, 1, range(256, 512, 128))     # 256, 384, 512
//
// A range is range(first, last) or range(first, last, step). Other than Python's it holds `last` where a step
// lands on it, as that format's documentation shows.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "runtime/bucketing/bucket.hpp"
#include "runtime/result.hpp"

namespace troupe {

inline constexpr std::size_t max_buckets = std::size_t{1} << 18U;  // of one file
inline constexpr std::size_t max_bucket_file_bytes = std::size_t{4} << 20U;

// Ascending, each once. `path` stands before the line number in errors.
// Errors: invalid_argument, naming every bad line with its number (the first few with their fault); or that
// the file holds no bucket, or more than max_buckets.
result<std::vector<bucket>> parse_buckets(std::string_view text, const std::string& path);

}  // namespace troupe
