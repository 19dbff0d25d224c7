// What this program was built with.
#pragma once
#include "runtime/executor/cuda_support.hpp"
#ifdef TROUPE_HAS_CUDA
#include "runtime/executor_cuda/cuda_executor.hpp"
#endif

namespace troupe {

#ifdef TROUPE_HAS_CUDA
// What the executor of a CUDA device is told: cuBLASLt multiplies, warnings go to the log.
cuda_executor_options cuda_options_of(const cpu_executor_options& options, const cuda_choice& choice);
// Products by cuBLASLt, the fastest of so many of its proposals.
gemm_opener cublaslt_opener(int most_proposals);
#endif

// Empty functions where this program was built without CUDA.
cuda_support find_cuda_support();

}  // namespace troupe
