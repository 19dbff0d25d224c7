// The model on the CPU: packed weights, int8 dot products, paged KV, a fixed team of threads.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include "runtime/executor/executor.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

struct cpu_executor_options {
  executor_limits limits;
  // Above 0: the KV cache takes this share of the memory that is available once the weights are loaded, and
  // limits.kv_cache_bytes is not looked at.
  double memory_utilization = 0;
  std::int32_t threads = 0;             // 0: one per core that this process may use
  std::string kernel_path = "auto";     // auto | avx512vnni | avx2 | reference
  std::string kv_cache_dtype = "auto";  // auto | f16 | int8; auto is f16
  std::vector<token_id> end_tokens;     // masked while a sequence is below its min_tokens
};

// Repacks the weights once (of the file, only rows of the embedding are read again) and takes all memory that
// a step needs. A max_model_len of 0 or beyond the model's own becomes the model's. Errors: unsupported (a
// kernel path that this CPU lacks, a head size that is no multiple of 16), invalid_argument (also an unknown
// kv_cache_dtype, and more kv_cache_bytes than there is memory), resource_exhausted, io_error
// (available_memory()).
result<std::unique_ptr<executor>> make_cpu_executor(const model_ptr& model,
                                                    const cpu_executor_options& options);

}  // namespace troupe
