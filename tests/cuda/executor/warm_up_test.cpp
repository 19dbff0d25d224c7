// The service's own warm-up on the emulated device, which reports what the kernels read too early.
#include <gtest/gtest.h>

#include "runtime/executor/warm_up/graph_sizes.hpp"
#include "runtime/executor/warm_up/scratch_batch.hpp"
#include "runtime/executor/warm_up/warm_up.hpp"
#include "tests/cuda/cuda_fixture.hpp"
#include "tests/cuda/executor/executors_fixture.hpp"
#include "tests/runtime/executor/executor_fixture.hpp"
#include "tests/support/tiny_model.hpp"

namespace troupe {
namespace {

class cuda_warm_up : public test::cuda_kernels {};

TEST_F(cuda_warm_up, every_step_runs_and_every_graph_is_captured_whatever_the_buckets) {
  const model_ptr model = test::load_from_memory(test::tiny_model(
      {.weights = gguf::tensor_type::bf16, .embedding = gguf::tensor_type::bf16, .num_layers = 2}));
  const cuda_executor_options options = test::small_cuda_options();
  for (const auto strategy :
       {bucketing_strategy::none, bucketing_strategy::exponential, bucketing_strategy::unified}) {
    const auto device = test::start_cuda(model, options);
    executor_limits limits = options.limits;
    limits.max_model_len = model->config.context_length;
    const kv_layout layout = device->layout();
    bucketing_options buckets;
    buckets.strategy = strategy;
    const auto plan = make_buckets(buckets, {limits.max_sequences, limits.max_rows, limits.block_size,
                                             limits.max_model_len, layout.num_blocks});
    ASSERT_TRUE(plan.has_value()) << plan.error().message;
    const auto graphs = graph_sizes(options.graph_rows, limits.max_sequences);
    for (const warm_up_item& item :
         warm_up_items(*plan, limits, limits.block_size, warm_up_extent::every_row_count,
                       {.verification = true}, graphs))
      run_warm_up(*device, {item, scratch_batch(item, layout, limits, model->config.vocab_size)});
    EXPECT_EQ(device->figures()->graphs, static_cast<std::int32_t>(graphs.size()));
    device->synchronize();
  }
}

}  // namespace
}  // namespace troupe
