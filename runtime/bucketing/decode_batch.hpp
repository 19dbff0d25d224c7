// Decode batch sizes counted down from the largest one, after vllm-rbln's decode bucketing
// (vllm_rbln.v1.worker.bucketing).
#pragma once
#include <cstdint>
#include <vector>

#include "runtime/result.hpp"

namespace troupe {

struct decode_batch_options {
  enum class strategy { exponential, linear };
  strategy kind = strategy::exponential;
  std::int32_t min = 1;     // no smaller batch size
  std::int32_t step = 2;    // exponential: what the next size is divided by; linear: what is subtracted
  std::int32_t limit = 32;  // sizes at most
};

// max_num_seqs, then each size divided by step (integers) or less step, descending: at most `limit`, none
// below min. Errors: invalid_argument, naming the option at fault (decode_batch_bucket_*).
result<std::vector<std::int32_t>> decode_batch_values(const decode_batch_options& options,
                                                      std::int32_t max_num_seqs);

}  // namespace troupe
