// From options to the buckets of an engine.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "runtime/bucketing/bucket.hpp"
#include "runtime/bucketing/bucket_values.hpp"
#include "runtime/bucketing/decode_batch.hpp"
#include "runtime/bucketing/engine_sizes.hpp"
#include "runtime/result.hpp"

namespace troupe {

enum class bucketing_strategy { exponential, linear, unified, none };

// What the options name of a dimension; the rest follows from the engine's sizes.
struct bucket_dimension {
  std::optional<std::int32_t> min = {};
  std::optional<std::int32_t> step = {};
  std::optional<std::int32_t> max = {};
  std::optional<std::int32_t> limit = {};
};

struct phase_dimensions {
  bucket_dimension batch = {};   // --prompt-bs-bucket-*, --decode-bs-bucket-*
  bucket_dimension query = {};   // --prompt-query-bucket-*, ...
  bucket_dimension blocks = {};  // --prompt-block-bucket-*, ...
};

struct bucketing_options {
  bucketing_strategy strategy = bucketing_strategy::exponential;
  bucket_fill fill = bucket_fill::fill;
  phase_dimensions prompt = {};
  phase_dimensions decode = {};
  std::optional<decode_batch_options> decode_batch = {};  // in place of decode.batch
  std::string from_file = {};                             // a bucket file in place of a strategy's buckets
};

struct phase_ranges {
  bucket_range batch;
  bucket_range query;
  bucket_range blocks;
};

struct bucket_plan {
  bucketing_strategy strategy = bucketing_strategy::none;
  bool from_file = false;
  // What exponential and linear buckets were made of.
  phase_ranges prompt_ranges = {};
  phase_ranges decode_ranges = {};
  // Ascending, each once.
  std::vector<bucket> prompt = {};
  std::vector<bucket> decode = {};
  std::vector<unified_bucket> unified = {};
};

// The ranges in force: what `options` name, and else
//   prompt  batch 1; query from block_size by block_size to min(max_num_batched_tokens, max_model_len);
//           blocks from 0 by 1 to what max_model_len leaves of the shortest query
//   decode  batch from 1 by 1 (linear: by 32) to max_num_seqs; query 1; blocks from block_size by block_size
//           to num_blocks
//   limit   ceil(log2(max)) + 1, of a prompt's blocks ceil(log2(max * block_size)) + 1
// Errors: invalid_argument, naming option and value.
result<phase_ranges> prompt_ranges(const bucketing_options& options, const engine_sizes& sizes);
result<phase_ranges> decode_ranges(const bucketing_options& options, const engine_sizes& sizes);

// Prompts keep query + blocks * block_size <= max_model_len. A file's buckets of query 1 are for decodes, the
// others for prompts. Errors: invalid_argument, naming option and value; those of reading the file.
result<bucket_plan> make_buckets(const bucketing_options& options, const engine_sizes& sizes);

}  // namespace troupe
