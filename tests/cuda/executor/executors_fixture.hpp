// Executors of tiny models that are ready for steps of up to 64 rows and 4 sequences.
#pragma once
#include <memory>

#include "runtime/executor_cuda/cuda_executor.hpp"

namespace troupe::test {

// Products by a plain loop, graphs for 1, 2 and 4 rows.
cuda_executor_options small_cuda_options();
// With all that a start asks of it.
std::unique_ptr<executor> start_cuda(const model_ptr& model, const cuda_executor_options& options);
// The same model on the CPU, one thread.
std::unique_ptr<executor> start_cpu(const model_ptr& model);

}  // namespace troupe::test
