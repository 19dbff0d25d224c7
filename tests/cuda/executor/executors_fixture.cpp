#include "tests/cuda/executor/executors_fixture.hpp"

#include <gtest/gtest.h>

#include <utility>

#include "runtime/executor/cpu/cpu_executor.hpp"
#include "runtime/executor/warm_up/scratch_batch.hpp"
#include "tests/cuda/executor/reference_gemm_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"

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
  const auto taken = (*made)->take_kv_cache({});
  EXPECT_TRUE(taken.has_value()) << taken.error().message;
  return std::move(*made);
}

void capture_graphs(executor& device) {
  const executor_limits limits{.max_rows = 64, .max_sequences = 4, .max_model_len = 64};
  for (const std::int32_t rows : {4, 2, 1}) {
    const warm_up_item step{.phase = warm_up_phase::decode, .shape = {rows, 1, 1}};
    device.forward(scratch_batch(step, device.layout(), limits, 100));
    device.synchronize();
  }
  EXPECT_EQ(device.figures()->graphs, 3);
}

std::unique_ptr<executor> start_cpu(const model_ptr& model) {
  cpu_executor_options options;
  options.limits = {.max_rows = 64, .max_sequences = 4, .kv_cache_bytes = 1U << 20U};
  options.threads = 1;
  return std::move(*make_cpu_executor(model, options));
}

std::vector<token_id> prompt_of(std::int32_t length) {
  std::vector<token_id> prompt;
  for (std::int32_t i = 0; i < length; ++i) prompt.push_back((i * 37 + length) % 250);
  return prompt;
}

std::size_t compare_greedy(executor& there, executor& here, std::span<const token_id> prompt,
                           std::int32_t wanted, float sure_by) {
  sampling_params with_margins = greedy();
  with_margins.logprobs = 2;
  executor_driver one(there);
  executor_driver other(here);
  const std::size_t a = one.add({prompt.begin(), prompt.end()}, greedy());
  const std::size_t b = other.add({prompt.begin(), prompt.end()}, with_margins);
  one.generate(a, wanted);
  other.generate(b, wanted);
  for (std::size_t i = 0; i < static_cast<std::size_t>(wanted); ++i) {
    const auto& top = other[b].logprobs[i].top;
    if (top[0].second - top[1].second < sure_by) return i;
    EXPECT_EQ(one.output(a)[i], other.output(b)[i]) << "prompt of " << prompt.size() << ", token " << i;
    if (one.output(a)[i] != other.output(b)[i]) return i;
  }
  return static_cast<std::size_t>(wanted);
}

}  // namespace troupe::test
