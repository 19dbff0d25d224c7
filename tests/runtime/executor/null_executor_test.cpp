#include "runtime/executor/null_executor.hpp"

#include <gtest/gtest.h>

namespace troupe {
namespace {

TEST(null_executor, answers_every_row_of_a_batch_by_its_script) {
  const auto device = make_null_executor({.block_size = 4, .num_blocks = 2},
                                         [](const sample_row& row) { return 10 + row.position; });
  EXPECT_EQ(device->layout().num_blocks, 2);
  EXPECT_EQ(device->kernel_path(), "null");
  device_batch batch;
  batch.step = 5;
  batch.sequences = {{.id = 1}, {.id = 2}};
  batch.samples = {{.sequence = 1, .position = 3, .sampling = std::make_shared<sampling_params>()}};
  batch.prompt_logprobs = {{.sequence = 0, .row = 0, .next_token = 8, .top = 1}};
  step_result result;
  for (int i = 0; i < 2; ++i) {
    device->forward(batch);
    device->sample(batch, nullptr, result);
    EXPECT_EQ(result.step, 5U);
    ASSERT_EQ(result.tokens.size(), 1U);
    EXPECT_EQ(result.tokens[0].id, 2U);
    EXPECT_EQ(result.tokens[0].token, 13);
    EXPECT_FALSE(result.tokens[0].logprobs);
    ASSERT_EQ(result.prompt_logprobs.size(), 1U);
    EXPECT_EQ(result.prompt_logprobs[0].token, 8);
  }
}

TEST(null_executor, tells_log_probabilities_only_where_asked) {
  const auto device = make_null_executor({}, [](const sample_row&) { return 1; });
  device_batch batch;
  batch.sequences = {{.id = 1}};
  batch.samples = {{.sampling = std::make_shared<sampling_params>(sampling_params{.logprobs = 3})}};
  step_result result;
  device->sample(batch, nullptr, result);
  ASSERT_TRUE(result.tokens[0].logprobs);
  EXPECT_EQ(result.tokens[0].logprobs->token, 1);
}

}  // namespace
}  // namespace troupe
