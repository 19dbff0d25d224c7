#include "tests/cuda/executor/executors_fixture.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "runtime/executor/cpu_executor.hpp"
#include "tests/cuda/executor/reference_gemm_fixture.hpp"

namespace troupe::test {

cuda_executor_options small_cuda_options() {
  cuda_executor_options options;
  options.limits = {.max_rows = 64, .max_sequences = 4, .block_size = 16, .kv_cache_bytes = 1U << 20U};
  options.memory_utilization = 0;
  options.graph_rows = {1, 2, 4};
  options.open_gemm = open_reference_gemm;
  return options;
}

std::unique_ptr<executor> start_cuda(const model_ptr& model, const cuda_executor_options& options) {
  auto made = load_cuda_executor(model, options);
  EXPECT_TRUE(made.has_value()) << made.error().message;
  const auto measured = (*made)->profile();
  EXPECT_TRUE(measured.has_value()) << measured.error().message;
  const auto taken = (*made)->take_kv_cache();
  EXPECT_TRUE(taken.has_value()) << taken.error().message;
  return std::move(*made);
}

std::unique_ptr<executor> start_cpu(const model_ptr& model) {
  cpu_executor_options options;
  options.limits = {.max_rows = 64, .max_sequences = 4, .kv_cache_bytes = 1U << 20U};
  options.threads = 1;
  return std::move(*make_cpu_executor(model, options));
}

}  // namespace troupe::test
