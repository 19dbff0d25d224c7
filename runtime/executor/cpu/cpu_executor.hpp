// The model on the CPU: packed weights, int8 dot products, paged KV, a fixed team of threads.
#pragma once
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "runtime/executor/cpu/packed_model.hpp"
#include "runtime/executor/executor.hpp"
#include "runtime/executor/machine/available_memory.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

struct cpu_executor_options {
  executor_limits limits;
  // Above 0: the KV cache takes this share of the memory that is available once the weights are loaded and
  // the largest step has run, and limits.kv_cache_bytes is not looked at.
  double memory_utilization = 0;
  std::int32_t threads = 0;                          // 0: one per core that this process may use
  std::string kernel_path = "auto";                  // auto | avx512vnni | avx2 | reference
  std::string dtype = "auto";                        // auto alone: see check_cpu_device()
  std::string kv_cache_dtype = "auto";               // auto | f16 | int8; auto is f16
  std::vector<token_id> end_tokens;                  // masked while a sequence is below its min_tokens
  std::shared_ptr<const packed_model> weights = {};  // of the model; null: packed for this executor
  // How many bytes can still be had, and how many there are if nobody else holds any.
  std::function<result<std::uint64_t>()> available = [] { return available_memory(); };
  std::function<result<std::uint64_t>()> total = [] { return total_memory(); };
};

// Repacks the weights, where they are not given (of the file, only rows of the embedding are read again) and
// takes the memory of a step within the limits. What executor.hpp calls the start is still to come: until
// then there is no KV cache. A max_model_len of 0 or beyond the model's own becomes the model's. Errors:
// those of check_cpu_device(); unsupported (a head size that is no multiple of 16), invalid_argument,
// resource_exhausted.
result<std::unique_ptr<executor>> load_cpu_executor(const model_ptr& model,
                                                    const cpu_executor_options& options);

// The same with the start done. Errors besides: invalid_argument (more kv_cache_bytes than there is memory),
// resource_exhausted (than is free), io_error (available_memory()).
result<std::unique_ptr<executor>> make_cpu_executor(const model_ptr& model,
                                                    const cpu_executor_options& options);

}  // namespace troupe
