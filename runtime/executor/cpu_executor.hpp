// The model on the CPU: packed weights, int8 dot products, paged KV, a fixed team of threads.
#pragma once
#include <memory>
#include <string>

#include "runtime/executor/executor.hpp"
#include "runtime/model/model.hpp"
#include "runtime/result.hpp"

namespace troupe {

struct cpu_executor_options {
  executor_limits limits;
  std::int32_t threads = 0;          // 0: one per core that this process may use
  std::string kernel_path = "auto";  // auto | avx512vnni | avx2 | reference
};

// Repacks the weights once (the file's pages are not touched again) and takes all memory that a step needs.
// Errors: unsupported (a kernel path that this CPU lacks), invalid_argument, resource_exhausted.
result<std::unique_ptr<executor>> make_cpu_executor(const model_ptr& model, const cpu_executor_options& options);

}  // namespace troupe
