// The sizes of an engine that buckets are made for.
#pragma once
#include <cstdint>

namespace troupe {

struct engine_sizes {
  std::int32_t max_num_seqs = 64;
  std::int32_t max_num_batched_tokens = 512;
  std::int32_t block_size = 16;
  std::int32_t max_model_len = 0;
  std::int32_t num_blocks = 0;
};

}  // namespace troupe
